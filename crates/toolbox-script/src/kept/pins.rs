//! Approved states of kept scripts, and of the tools that they use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolbox::{ToolBox, ToolDefinition};

use super::{KeptScript, KeptScriptError};
use crate::digest::sha256;
use crate::scripts::SCRIPT_TAG;

/// The members of a definition that are approved.
const MEMBERS: [&str; 6] =
    ["title", "description", "input_schema", "output_schema", "annotations", "tags"];

/// The digests by which a person approved a kept script and the tools that it may use: JSON, for a
/// lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptPins {
    /// The digest of the file.
    digest: String,
    /// The file, to name what differs. The digest decides.
    text: String,
    /// The digests of each tool's definition, by member.
    tools: BTreeMap<String, BTreeMap<String, String>>,
}

impl KeptPins {
    /// Returns the digests of a script, and of its tools as a box has them.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::NoTool`] and [`KeptScriptError::RunsScripts`] for a tool that it cannot
    /// use.
    pub fn of(script: &KeptScript, toolbox: &ToolBox) -> Result<Self, KeptScriptError> {
        let tools = script.tools().iter().map(|name| {
            let tool = toolbox.get(name).ok_or_else(|| KeptScriptError::NoTool {
                script: script.name().to_owned(),
                tool: name.clone(),
            })?;
            if tool.definition().tags.iter().any(|tag| tag == SCRIPT_TAG) {
                let (script, tool) = (script.name().to_owned(), name.clone());
                return Err(KeptScriptError::RunsScripts { script, tool });
            }
            Ok((name.clone(), digests(tool.definition())))
        });
        let tools = tools.collect::<Result<_, _>>()?;
        let text = script.text().to_owned();
        Ok(Self { digest: sha256(text.as_bytes()), text, tools })
    }

    /// Returns one digest of all that is approved, for a person to confirm.
    #[must_use]
    pub fn digest(&self) -> String {
        // Serializing such a value cannot fail.
        sha256(&serde_json::to_vec(&(&self.digest, &self.tools)).unwrap_or_default())
    }

    /// Checks that the file is the approved one.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::Changed`].
    pub fn check_text(&self, script: &KeptScript) -> Result<(), KeptScriptError> {
        let (old, new) = (self.text.as_bytes(), script.text().as_bytes());
        if sha256(new) == self.digest {
            return Ok(());
        }
        let byte = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let line = new[..byte].split(|byte| *byte == b'\n').count();
        Err(KeptScriptError::Changed { script: script.name().to_owned(), byte, line })
    }

    /// Checks that each tool that the script may use is in a box, as it was approved.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::ToolChanged`], and as for [`KeptPins::of`].
    pub fn check_tools(
        &self,
        script: &KeptScript,
        toolbox: &ToolBox,
    ) -> Result<(), KeptScriptError> {
        let now = Self::of(script, toolbox)?;
        for (tool, new) in &now.tools {
            let none = BTreeMap::new();
            let old = self.tools.get(tool).unwrap_or(&none);
            let differs = |member: &&str| old.get(*member) != new.get(*member);
            let members: Vec<String> =
                MEMBERS.into_iter().filter(differs).map(str::to_owned).collect();
            if !members.is_empty() {
                let (script, tool) = (script.name().to_owned(), tool.clone());
                return Err(KeptScriptError::ToolChanged { script, tool, members });
            }
        }
        Ok(())
    }
}

/// Returns the digest of each member of a definition.
fn digests(definition: &ToolDefinition) -> BTreeMap<String, String> {
    let definition = serde_json::to_value(definition).unwrap_or_default();
    let digest = |member: &str| {
        let value = definition.get(member).filter(|value| !value.is_null())?;
        Some((member.to_owned(), sha256(sorted(value.clone()).to_string().as_bytes())))
    };
    MEMBERS.into_iter().filter_map(digest).collect()
}

/// Returns a value with the keys of its objects in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<String, Value> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(map.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        scalar => scalar,
    }
}
