//! The servers of one session.

use std::fmt;
use std::sync::Arc;

use futures::future::join_all;
use weft_tools::{Tool as _, ToolRegistry};

use crate::names::Names;
use crate::server::{Greeting, Server};
use crate::tool::McpTool;
use crate::{Failure, ServerConfig, ServerContext};

/// How much of one server's instructions a model is given, in characters.
const INSTRUCTIONS_CHARS: usize = 4_000;

/// The servers of one session that work. Dropping them kills their processes; [`close`](Self::close) is the polite
/// way.
pub struct Servers {
    servers: Vec<Arc<Server>>,
    standings: Vec<Standing>,
}

/// What became of one configured server.
enum Standing {
    /// It works; how many tools it gives, and its place among those that work.
    Works {
        tools: usize,
        place: usize,
    },
    LeftOut {
        name: String,
        reason: String,
    },
}

/// What came of starting servers.
#[derive(Debug)]
pub struct Started {
    /// Those that work.
    pub servers: Servers,
    /// Those that do not, each with its name and why.
    pub failures: Vec<(String, Failure)>,
    /// What else the user should know, one paragraph each: which tools are left out, and why.
    pub notices: Vec<String>,
    /// What working servers want a model to know, bounded, in the order of their configurations.
    pub instructions: Vec<String>,
    tools: Vec<Arc<McpTool>>,
}

impl Servers {
    /// Starts all servers side by side. Takes as long as the slowest, and none longer than its own limit.
    ///
    /// Names of tools follow from the order of the configurations and the names on the servers. Dropping the future
    /// kills what was started.
    pub async fn start(configs: Vec<ServerConfig>, context: ServerContext) -> Started {
        let limits = context.limits;
        let context = Arc::new(context);
        let starts = configs.into_iter().map(|config| {
            let (context, name, filter) = (Arc::clone(&context), config.name.clone(), config.tools.clone());
            async move { (name, filter, Server::start(config, context).await) }
        });
        let mut started = Started {
            servers: Self {
                servers: Vec::new(),
                standings: Vec::new(),
            },
            failures: Vec::new(),
            notices: Vec::new(),
            instructions: Vec::new(),
            tools: Vec::new(),
        };
        let mut names = Names::default();
        for (name, filter, outcome) in join_all(starts).await {
            let (
                server,
                Greeting {
                    mut listing,
                    instructions,
                },
            ) = match outcome {
                Ok(ok) => ok,
                Err(failure) => {
                    started.servers.standings.push(Standing::LeftOut {
                        name: name.clone(),
                        reason: failure.to_string(),
                    });
                    started.failures.push((name, failure));
                    continue;
                }
            };
            let server = Arc::new(server);
            listing.tools.retain(|tool| filter.takes(&tool.name));
            let room = limits.tools - started.tools.len().min(limits.tools);
            if listing.tools.len() > room {
                listing.notes.push(format!(
                    "{} of its {} tools are left out: mcp.max_tools is {}",
                    listing.tools.len() - room,
                    listing.tools.len(),
                    limits.tools
                ));
                listing.tools.truncate(room);
            }
            started.servers.standings.push(Standing::Works {
                tools: listing.tools.len(),
                place: started.servers.servers.len(),
            });
            for note in listing.notes {
                started.notices.push(format!("MCP server \"{name}\": {note}"));
            }
            for tool in listing.tools {
                let called = names.of(&name, &tool.name);
                let tool = McpTool::new(called, tool, Arc::clone(&server), limits.output_chars);
                started.tools.push(Arc::new(tool));
            }
            started
                .instructions
                .extend(instructions.map(|text| instruct(&name, &text)));
            started.servers.servers.push(server);
        }
        started
    }

    /// How every configured server is, a line for each, in their order; without asking any.
    pub fn status(&self) -> Vec<String> {
        self.standings.iter().map(|standing| self.line(standing)).collect()
    }

    fn line(&self, standing: &Standing) -> String {
        match standing {
            Standing::Works { tools, place } => {
                let server = &self.servers[*place];
                let (name, s) = (&server.config.name, if *tools == 1 { "" } else { "s" });
                if server.is_up() {
                    format!("MCP server \"{name}\": {tools} tool{s}")
                } else {
                    format!("MCP server \"{name}\": not running; the next call of its {tools} tool{s} starts it again")
                }
            }
            Standing::LeftOut { name, reason } => {
                let first = reason.lines().next().unwrap_or_default();
                format!("MCP server \"{name}\": left out: {first}")
            }
        }
    }

    /// Ends all servers side by side, and resolves when nothing of their processes is left: within three seconds.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.servers.iter().map(|server| &server.config.name);
        f.debug_list().entries(names).finish()
    }
}

impl Started {
    /// Puts the tools into a registry's layer. One that does not fit is left out, with a notice.
    pub fn register(&mut self, registry: &ToolRegistry) {
        for tool in std::mem::take(&mut self.tools) {
            let own_name = tool.own_name().to_owned();
            match registry.register(tool) {
                Ok(registration) => registration.keep(),
                Err(error) => self
                    .notices
                    .push(format!("an MCP server's tool \"{own_name}\" is left out: {error}")),
            }
        }
    }

    /// All that the user should know, one paragraph each.
    pub fn take_notices(&mut self) -> Vec<String> {
        let failed = std::mem::take(&mut self.failures).into_iter();
        let failed = failed
            .map(|(name, failure)| format!("MCP server \"{name}\" is left out: {failure}\nhint: {}", failure.hint()));
        failed.chain(std::mem::take(&mut self.notices)).collect()
    }

    /// The names by which a model would call the tools that are not registered yet.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.spec().name).collect()
    }
}

fn instruct(name: &str, text: &str) -> String {
    let text = text.trim();
    let kept = match text.char_indices().nth(INSTRUCTIONS_CHARS) {
        Some((at, _)) => format!("{}… (cut)", &text[..at]),
        None => text.to_owned(),
    };
    format!("What the MCP server \"{name}\" says of its tools:\n{kept}")
}
