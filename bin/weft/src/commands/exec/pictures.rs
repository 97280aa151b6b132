//! Pictures that the model is shown with the prompt.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use weft_agent::Agent;
use weft_toolset::picture_type;
use weft_types::ContentBlock;

/// Reads them, in their order, each of at most `most` bytes; the error is wrong usage.
pub(super) fn read(files: &[PathBuf], most: usize) -> Result<Vec<ContentBlock>, String> {
    files.iter().map(|file| picture(file, most)).collect()
}

fn picture(file: &Path, most: usize) -> Result<ContentBlock, String> {
    let shown = file.display();
    let bytes = bytes_of(file, most).map_err(|error| format!("failed to read the picture {shown}: {error}"))?;
    if bytes.len() > most {
        return Err(format!(
            "failed to read the picture {shown}: found more than {most} bytes, the limit acp.image_bytes\nhint: make it \
             smaller, or raise the limit"
        ));
    }
    let media = picture_type(&bytes).map_err(|error| format!("failed to read the picture {shown}: {error}"))?;
    Ok(ContentBlock::Image {
        mime_type: media.to_owned(),
        data: BASE64_STANDARD.encode(&bytes),
    })
}

/// All of a file, up to a byte more than the limit. What is no file could be waited for without end.
fn bytes_of(file: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the agent's model takes pictures, as far as that is known; the error is wrong usage.
pub(super) fn check_model(agent: &Agent) -> Result<(), String> {
    let chosen = agent.model();
    // A model that is not there is told by the turn.
    let Ok(model) = agent.models().resolve(chosen.as_deref()) else {
        return Ok(());
    };
    let id = format!("{}/{}", model.provider, model.name);
    if agent.models().info(&id).images != Some(false) {
        return Ok(());
    }
    Err(format!(
        "the model {id} takes no pictures\nhint: choose another one with --model (weft models lists them), or set \
         images = true in [models.\"{id}\"] if it does"
    ))
}
