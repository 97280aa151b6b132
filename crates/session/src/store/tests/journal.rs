//! Journals of workflow runs.

use std::io::ErrorKind;

use serde_json::{Value, json};

use super::layer::Act;
use super::*;

fn run() -> weft_types::RunId {
    "r1".into()
}

fn first() -> Value {
    json!({ "version": 1, "script": "return 1" })
}

fn record(n: u64) -> Value {
    json!({ "n": n })
}

/// A session with the journal of a run that holds these records.
fn journal(records: u64) -> (Fixture, Journal) {
    let fixture = Fixture::new();
    fixture.create([start(1)]);
    let journal = fixture.store.create_journal(&id(), &run(), &first()).expect("made");
    for n in 0..records {
        journal.append(&record(n)).expect("written");
    }
    (fixture, journal)
}

fn place(fixture: &Fixture) -> PathBuf {
    fixture.folder().join("runs/r1.jsonl")
}

/// What a reader in another process finds: the first line, the others without their checksums, and how many are broken.
fn read(fixture: &Fixture) -> Result<(Value, Vec<u64>, u64), StoreError> {
    let mut stored = fixture.other().read_journal(&id(), &run())?;
    let first = stored.first::<Value>()?;
    let mut records = Vec::new();
    while let Some(record) = stored.next_record::<Value>()? {
        records.push(record["n"].as_u64().expect("a record"));
    }
    Ok((first, records, stored.broken()))
}

#[test]
fn what_was_written_is_read_while_it_is_being_written() {
    let (fixture, journal) = journal(2);
    let (header, records, broken) = read(&fixture).expect("readable");
    assert_eq!(header["script"], "return 1");
    assert_eq!((records, broken), (vec![0, 1], 0));
    journal.append(&record(2)).expect("written");
    assert_eq!(read(&fixture).expect("readable").1, [0, 1, 2]);
    assert_eq!(fixture.store.journals(&id()).expect("listed"), [run()]);
    assert_eq!(fixture.store.session_of_run(&run()).expect("found"), Some(id()));
    assert_eq!(fixture.store.session_of_run(&"r2".into()).expect("looked"), None);
}

#[test]
fn wfr06_a_damaged_end_costs_its_own_record_only() {
    let (fixture, journal) = journal(3);
    drop(journal);
    let whole = fs::read(place(&fixture)).expect("a file");
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .expect("lines")
        + 1;
    let half = last + (whole.len() - last) / 2;
    let damages: [(&str, Vec<u8>, &[u64], u64); 4] = [
        ("torn", whole[..half].to_vec(), &[0, 1], 1),
        ("no line feed", whole[..whole.len() - 1].to_vec(), &[0, 1, 2], 0),
        (
            "half a line, then it again",
            [&whole[..half], b"\n", &whole[last..]].concat(),
            &[0, 1, 2],
            1,
        ),
        (
            "half a line with the next behind it",
            [&whole[..half], &whole[last..]].concat(),
            &[0, 1],
            1,
        ),
    ];
    for (how, bytes, sound, broken) in damages {
        fs::write(place(&fixture), bytes).expect("written");
        let (_, records, lost) = read(&fixture).expect(how);
        assert_eq!((&records[..], lost), (sound, broken), "{how}");
    }
}

#[test]
fn wfr05_what_does_not_begin_as_a_journal_is_refused() {
    let (fixture, journal) = journal(1);
    drop(journal);
    let whole = fs::read(place(&fixture)).expect("a file");
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    for bytes in [Vec::new(), whole[..10].to_vec(), flipped, b"no journal\n".to_vec()] {
        fs::write(place(&fixture), bytes).expect("written");
        let error = read(&fixture).expect_err("refused");
        assert!(matches!(error, StoreError::DamagedJournal { .. }), "{error}");
        assert!(error.to_string().contains("r1.jsonl"), "{error}");
    }
    fs::remove_file(place(&fixture)).expect("removed");
    let error = read(&fixture).expect_err("gone");
    assert!(matches!(error, StoreError::NoJournal { .. }), "{error}");
    for id in ["../log", "", "a/b", ".hidden"] {
        let error = fixture.store.session_of_run(&id.into()).expect_err("no id");
        assert!(matches!(error, StoreError::NoJournal { .. }), "{id:?}: {error}");
    }
}

#[test]
fn a_journal_that_cannot_be_made_leaves_nothing() {
    let fixture = Fixture::new();
    let make = |store: &FileStore| store.create_journal(&id(), &run(), &first());
    make(&fixture.store).expect_err("its session is nowhere");
    assert!(!fixture.folder().exists());
    fixture.create([start(1)]);
    for act in [Act::CreateFolder, Act::Create, Act::Write] {
        fixture.layer.fail(act, ErrorKind::StorageFull, 0, 1);
        make(&fixture.store).expect_err("no room");
        assert!(!place(&fixture).exists(), "{act:?}");
    }
    make(&fixture.store).expect("there is room again");
    make(&fixture.store).expect_err("it is there already");
}

#[test]
fn a_failed_write_is_cut_off_and_is_the_last() {
    let (fixture, journal) = journal(2);
    let before = fs::read(place(&fixture)).expect("a file");
    fixture.layer.fail_half_way(7);
    journal.append(&record(2)).expect_err("no room");
    journal.append(&record(3)).expect_err("it takes nothing more");
    assert_eq!(fs::read(place(&fixture)).expect("a file"), before);
}

#[test]
fn it_goes_with_its_session_and_is_in_nobody_elses_way() {
    let (fixture, journal) = journal(1);
    drop(journal);
    let verified = fixture.store.verify(&id()).expect("a log");
    assert_eq!((verified.events, verified.damage), (1, None));
    let listed = fixture.store.list(&ListQuery::default()).expect("listed");
    assert_eq!(listed.rows.len(), 1);
    let mut exported = Vec::new();
    fixture.store.export(&id(), &mut exported).expect("exported");
    assert!(!String::from_utf8(exported).expect("text").contains("return 1"));
    assert_eq!(fixture.store.delete(&id()).expect("deleted"), [id()]);
    assert!(!fixture.folder().exists());
}

#[test]
fn wfr08_a_run_is_claimed_once_at_a_time() {
    let fixture = Fixture::new();
    let claim = fixture.store.claim_run(&id(), &run()).expect("free");
    assert!(fixture.store.clone().claim_run(&id(), &run()).is_none());
    assert!(fixture.store.claim_run(&id(), &"r2".into()).is_some());
    drop(claim);
    assert!(fixture.store.claim_run(&id(), &run()).is_some());
}
