//! The outbox with its thread, on real pipes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::mpsc;
use std::thread;

use super::*;

fn start(output: impl Write + Send + 'static) -> Outbox {
    Outbox::start(output, OutboxBytes::new(16 << 10).unwrap()).unwrap()
}

/// Takes a write at a time, each when it is told to.
struct Stepwise {
    go: mpsc::Receiver<()>,
    seen: mpsc::Sender<Vec<u8>>,
}

impl Write for Stepwise {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.go.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
        self.seen.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stepwise() -> (Stepwise, mpsc::Sender<()>, mpsc::Receiver<Vec<u8>>) {
    let ((go, stopped), (seen, writes)) = (mpsc::channel(), mpsc::channel());
    (Stepwise { go: stopped, seen }, go, writes)
}

#[tokio::test]
async fn lines_of_each_producer_leave_in_order_and_whole() {
    let (reader, writer) = io::pipe().unwrap();
    let outbox = start(writer);
    let producers: Vec<_> = (0..4)
        .map(|producer| {
            let outbox = outbox.clone();
            thread::spawn(move || {
                for line in 0..5_000 {
                    let text = format!("{producer} {line}\n");
                    if line % 7 == 0 {
                        outbox.message(text.as_bytes());
                    } else {
                        outbox.update(text.as_bytes());
                    }
                }
            })
        })
        .collect();
    let reading = thread::spawn(move || {
        let mut next = [0; 4];
        for line in BufReader::new(reader).lines() {
            let line = line.unwrap();
            let (producer, number) = line.split_once(' ').unwrap();
            let expected = &mut next[producer.parse::<usize>().unwrap()];
            assert_eq!(number.parse::<i32>().unwrap(), *expected, "{line}");
            *expected += 1;
        }
        next
    });
    for producer in producers {
        producer.join().unwrap();
    }
    outbox.close();
    outbox.ended().await;
    assert_eq!(reading.join().unwrap(), [5_000; 4]);
}

#[test]
fn what_gathers_during_a_write_is_one_write() {
    let (output, go, writes) = stepwise();
    let outbox = start(output);
    outbox.update(b"first\n");
    go.send(()).unwrap();
    assert_eq!(writes.recv().unwrap(), b"first\n");
    outbox.update(b"second\n");
    // The writer takes the second line, or several, and waits for the go.
    while outbox.waiting_bytes() > 0 {
        thread::yield_now();
    }
    for line in 0..100 {
        outbox.update(format!("{line}\n").as_bytes());
    }
    for _ in 0..2 {
        go.send(()).unwrap();
    }
    let (second, third) = (writes.recv().unwrap(), writes.recv().unwrap());
    let lines = [second, third].concat();
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 101);
}

#[test]
fn g88_a_stalled_client_costs_a_bounded_queue_and_still_gets_the_final_card() {
    let (output, go, writes) = stepwise();
    let outbox = start(output);
    let report = |report: usize| format!("{report:>999}\n").into_bytes();
    for number in 0..10_000 {
        outbox.progress(&"s".into(), &"a".into(), &report(number));
        assert!(outbox.waiting_bytes() <= (16 << 10) + 1000, "at report {number}");
    }
    outbox.update(b"final\n");
    outbox.close();
    // More goes than writes: the writer ends in between, and then nobody takes them.
    (0..1000).take_while(|_| go.send(()).is_ok()).count();
    drop(go);
    let text = writes.iter().flatten().collect::<Vec<_>>();
    let text = String::from_utf8(text).unwrap();
    let tail: Vec<_> = text.lines().rev().take(2).map(str::trim).collect();
    assert_eq!(tail, ["final", "9999"]);
}

#[tokio::test]
async fn a_client_that_closes_its_end_breaks_the_outbox_and_nothing_else() {
    let (reader, writer) = io::pipe().unwrap();
    let outbox = start(writer);
    drop(reader);
    outbox.update(b"into the void\n");
    outbox.broken().await;
    outbox.ended().await;
    outbox.update(b"ignored\n");
    outbox.message(b"ignored\n");
    assert_eq!(outbox.waiting_bytes(), 0);
    outbox.below_ceiling().await;
}

#[tokio::test]
async fn closing_writes_what_waits_and_takes_nothing_more() {
    let (mut reader, writer) = io::pipe().unwrap();
    let outbox = start(writer);
    outbox.message(b"one\n");
    outbox.close();
    outbox.update(b"late\n");
    outbox.ended().await;
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\n");
}

#[tokio::test]
async fn an_idle_outbox_ends_when_it_is_closed() {
    let outbox = start(io::sink());
    outbox.close();
    outbox.ended().await;
}

#[tokio::test]
async fn room_is_waited_for_until_a_batch_has_left() {
    let (output, go, writes) = stepwise();
    let outbox = start(output);
    let line = vec![b'x'; 64 << 10];
    for _ in 0..4 {
        outbox.message(&line);
    }
    let waiting = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.below_ceiling().await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "{} bytes wait", outbox.waiting_bytes());
    for _ in 0..4 {
        go.send(()).unwrap();
    }
    waiting.await.unwrap();
    drop(writes);
}
