use super::super::fold::tests::{conversation, turn};
use super::*;
use weft_types::{Origin, SessionId, UnixMillis};

fn header() -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: SessionId::new("s-1"),
        created_at: UnixMillis(1_000),
        cwd: "/w".to_owned(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

fn events(cut: usize) -> Vec<Arc<Event>> {
    turn(cut).into_iter().map(Arc::new).collect()
}

const WHOLE: &str = "\
session  s-1
         review it
         /w · 1970-01-01T00:00:01Z

         1970-01-01T00:00:00Z
    you  review␛[2J it
   weft  I look.
         ✔ workflow · completed
           all good
           ✔ review · 1 member · completed
             Read · 1 member · completed 1
               ✔ one · completed  k1
";

#[test]
fn a_pipe_gets_plain_lines_however_the_events_come() {
    for page in [1, 5, 100] {
        let mut out = Vec::new();
        let mut drawing = Drawing::new(Out::Plain(BufWriter::new(&mut out)), conversation());
        drawing.header(&header(), Some("review\nit")).expect("written");
        for events in events(0).chunks(page) {
            drawing.events(events).expect("written");
        }
        drawing.end(&header()).expect("written");
        drop(drawing);
        assert_eq!(String::from_utf8(out).expect("text"), WHOLE);
    }
}

#[test]
fn what_is_not_settled_is_drawn_at_the_end() {
    let mut out = Vec::new();
    let mut drawing = Drawing::new(Out::Plain(BufWriter::new(&mut out)), conversation());
    drawing.events(&events(5)).expect("written");
    drawing.end(&header()).expect("written");
    drop(drawing);
    let text = String::from_utf8(out).expect("text");
    assert!(
        text.contains("▶ workflow · running\n           ▶ review · 1 member · running"),
        "{text}"
    );
}

#[test]
fn a_terminal_that_follows_draws_over_what_is_not_settled() {
    let mut out = Vec::new();
    let size = || Size { columns: 60, rows: 24 };
    let mut drawing = Drawing::new(Out::Live(Redrawn::new(&mut out), size), conversation());
    let events = events(0);
    drawing.events(&events[..8]).expect("written");
    drawing.events(&events[8..]).expect("written");
    drawing.end(&header()).expect("written");
    drop(drawing);
    let text = String::from_utf8(out).expect("text");
    // The call and the run's three lines were drawn over once, by their settled selves.
    assert_eq!(text.matches("\x1b[4A").count(), 1, "{text:?}");
    assert!(text.ends_with("\x1b[0J"), "{text:?}");
}

#[test]
fn no_row_is_wider_than_the_terminal() {
    use unicode_width::UnicodeWidthStr as _;
    let mut out = Vec::new();
    let size = || Size { columns: 40, rows: 24 };
    let mut drawing = Drawing::new(Out::Coloured(BufWriter::new(&mut out), size), conversation());
    let long = SessionHeader {
        cwd: "/long".repeat(30),
        ..header()
    };
    drawing.header(&long, Some(&"t".repeat(90))).expect("written");
    drawing.events(&events(0)).expect("written");
    drop(drawing);
    let text = String::from_utf8(out).expect("text");
    let ink = Palette::COLOURED;
    for row in text.lines() {
        let codes = [ink.bold, ink.dim, ink.cyan, ink.green, ink.red, ink.yellow, ink.reset];
        let plain = codes.iter().fold(row.to_owned(), |row, code| row.replace(code, ""));
        assert!(plain.width() <= 40, "{plain:?}");
    }
}

#[test]
fn a_time_that_no_calendar_has_is_a_number() {
    assert_eq!(date(0), "1970-01-01T00:00:00Z");
    assert_eq!(date(u64::MAX), format!("{} ms", u64::MAX));
}
