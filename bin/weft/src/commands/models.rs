//! `weft models`: what is known of the models that can be used.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;
use weft_model::{ModelInfo, Models as _};

use crate::args::ModelsArgs;
use crate::config::{Config, Home, Overrides, settings};
use crate::logging;
use crate::models::Providers;
use crate::terminal::one_line;

/// What stands between two columns.
const GAP: usize = 2;

/// Prints the list, after asking the endpoints if that is wanted.
pub(crate) fn run(args: &ModelsArgs) -> anyhow::Result<ExitCode> {
    let home = Home::find()?;
    logging::init(&home.config);
    let config = Config::load(&home.config, &Overrides::default())?;
    let providers = Providers::new(&config)?.discovering(home.cache);
    let models = providers.table(config.text(&settings::MODEL));
    let mut ended = ExitCode::SUCCESS;
    if let Some(discovery) = providers.discovery().filter(|_| args.refresh) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for (provider, error) in runtime.block_on(discovery.refresh()) {
            let told = format!("weft: failed to list the models of {provider}: {}", error.message());
            let _unread = writeln!(io::stderr(), "{}", one_line(&told));
            ended = ExitCode::FAILURE;
        }
    }
    let known = models.list();
    let mut out = io::stdout().lock();
    if args.json {
        let models: Vec<Value> = known.iter().map(document).collect();
        writeln!(out, "{}", json!({ "models": models }))?;
        return Ok(ended);
    }
    for line in lines(&known) {
        writeln!(out, "{line}")?;
    }
    if known.is_empty() {
        let told = format!(
            "no models in {}\nhint: add a table [providers.NAME] and set model = \"NAME/MODEL\"",
            home.config.join("config.toml").display()
        );
        let _unread = writeln!(io::stderr(), "{told}");
    }
    Ok(ended)
}

/// A model as a program is told of it.
fn document(info: &ModelInfo) -> Value {
    let prices = info.prices.map(|prices| {
        json!({
            "input": prices.input,
            "output": prices.output,
            "cachedInput": prices.cached_input,
        })
    });
    json!({
        "id": info.id,
        "name": info.name,
        "contextWindow": info.context_window,
        "maxOutput": info.max_output,
        "images": info.images,
        "tools": info.tools,
        "prices": prices,
    })
}

/// The models under their headings; nothing for no models.
fn lines(models: &[ModelInfo]) -> Vec<String> {
    if models.is_empty() {
        return Vec::new();
    }
    let headings = ["MODEL", "CONTEXT", "OUTPUT", "IMAGES", "$/M IN", "$/M OUT"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(headings).chain(models.iter().map(cells)).collect();
    let widths: [usize; 6] = std::array::from_fn(|n| rows.iter().map(|row| row[n].width()).max().unwrap_or(0));
    let line = |row: &[String; 6]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.width() + GAP));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn cells(info: &ModelInfo) -> [String; 6] {
    let price = |price: Option<f64>| price.map_or_else(|| "?".to_owned(), rounded);
    let images = match info.images {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    };
    [
        one_line(&info.id),
        tokens(info.context_window),
        tokens(info.max_output),
        images.to_owned(),
        price(info.prices.map(|prices| prices.input)),
        price(info.prices.map(|prices| prices.output)),
    ]
}

/// A price with as many digits as say something.
fn rounded(price: f64) -> String {
    let text = format!("{price:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn tokens(tokens: Option<u64>) -> String {
    match tokens {
        None => "?".to_owned(),
        Some(tokens) if tokens >= 1_000 => format!("{}k", tokens / 1_000),
        Some(tokens) => tokens.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use weft_model::Prices;

    use super::*;

    fn known() -> ModelInfo {
        ModelInfo {
            context_window: Some(200_000),
            max_output: Some(900),
            images: Some(false),
            prices: Some(Prices {
                input: 2.50,
                output: 10.0,
                cached_input: None,
            }),
            ..ModelInfo::unknown("a/known")
        }
    }

    #[test]
    fn figures_stand_under_their_headings_and_what_is_not_known_is_marked() {
        assert_eq!(
            lines(&[known(), ModelInfo::unknown("b/x\n")]),
            [
                "MODEL    CONTEXT  OUTPUT  IMAGES  $/M IN  $/M OUT",
                "a/known  200k     900     no      2.5     10",
                "b/x      ?        ?       ?       ?       ?",
            ]
        );
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn a_document_says_null_where_nothing_is_known() {
        let document = document(&ModelInfo::unknown("b/x"));
        assert_eq!(document["contextWindow"], Value::Null);
        assert_eq!(document["prices"], Value::Null);
        assert_eq!(super::document(&known())["prices"]["input"], 2.5);
    }
}
