//! An endpoint on loopback that answers byte for byte as told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How one request is answered.
pub(crate) struct Reply {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// How many bytes are written at a time.
    pub(crate) piece: usize,
    pub(crate) end: End,
}

/// What happens to the connection after an answer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Close,
    Reset,
    /// Nothing more is sent until the client goes.
    Hold,
    /// The body is sent again and again until the client goes.
    Repeat,
    /// The next request is read from the same connection.
    KeepAlive,
}

impl Reply {
    /// An event stream.
    pub(crate) fn stream(body: impl AsRef<str>) -> Self {
        Self::new("200 OK", &["content-type: text/event-stream"], body)
    }

    /// Any answer.
    pub(crate) fn new(status: &str, headers: &[&str], body: impl AsRef<str>) -> Self {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n");
        Self {
            head: head.into_bytes(),
            ..Self::raw(body.as_ref())
        }
    }

    /// These bytes and nothing else.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            head: Vec::new(),
            body: bytes.into(),
            piece: usize::MAX,
            end: End::Close,
        }
    }

    pub(crate) fn in_pieces_of(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    pub(crate) fn then(self, end: End) -> Self {
        Self { end, ..self }
    }
}

/// A request as it came.
pub(crate) struct Request {
    /// The request line and the headers, names in lower case.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

/// What a client did.
pub(crate) enum Seen {
    Connected,
    Asked(Request),
    /// The client closed a connection on which more was to come.
    Left,
}

/// The endpoint; it ends with this value.
pub(crate) struct Server {
    port: u16,
    seen: mpsc::UnboundedReceiver<Seen>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens, and answers the requests to come with these replies, in order.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let (sender, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                sender.send(Seen::Connected).ok();
                connections.spawn(serve(stream, Arc::clone(&replies), sender.clone()));
            }
        });
        Self { port, seen, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// What the client did next.
    pub(crate) async fn seen(&mut self) -> Seen {
        self.seen.recv().await.expect("the server runs")
    }

    /// The next request.
    pub(crate) async fn request(&mut self) -> Request {
        loop {
            if let Seen::Asked(request) = self.seen().await {
                return request;
            }
        }
    }

    /// Waits until the client has left.
    pub(crate) async fn left(&mut self) {
        while !matches!(self.seen().await, Seen::Left) {}
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, replies: Arc<Mutex<VecDeque<Reply>>>, seen: mpsc::UnboundedSender<Seen>) {
    stream.set_nodelay(true).expect("a socket");
    while let Some(request) = read_request(&mut stream).await {
        seen.send(Seen::Asked(request)).ok();
        let reply = replies
            .lock()
            .expect("no panic")
            .pop_front()
            .expect("a reply for each request");
        let head = Reply {
            body: reply.head.clone(),
            ..Reply::raw("")
        };
        let mut is_there = write(&mut stream, &head).await && write(&mut stream, &reply).await;
        match reply.end {
            End::KeepAlive => continue,
            End::Close => {}
            End::Reset => stream.set_zero_linger().expect("a socket"),
            End::Hold => {
                while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {}
                seen.send(Seen::Left).ok();
            }
            End::Repeat => {
                while is_there {
                    is_there = write(&mut stream, &reply).await;
                }
                seen.send(Seen::Left).ok();
            }
        }
        return;
    }
}

/// Writes an answer; whether the client took it.
async fn write(stream: &mut TcpStream, reply: &Reply) -> bool {
    for piece in reply.body.chunks(reply.piece) {
        if stream.write_all(piece).await.is_err() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    };
    let head: Vec<String> = String::from_utf8(bytes[..end].to_vec())
        .ok()?
        .split("\r\n")
        .map(str::to_owned)
        .collect();
    let mut request = Request {
        head,
        body: bytes[end + 4..].to_vec(),
    };
    let length: usize = request.header("content-length").unwrap_or("0").parse().ok()?;
    while request.body.len() < length {
        (stream.read_buf(&mut request.body).await.ok()? > 0).then_some(())?;
    }
    Some(request)
}
