//! Groups of tools that a provider shows under one name.

use serde::{Deserialize, Serialize};

use super::name::{InvalidNameError, check_name};

/// A group of tools, under one name and one description.
///
/// `OpenAI` Responses has namespaces: its models choose a namespace by its description before they
/// read its tools, so it helps where a request has many tools of a few subjects; the service
/// advises ten tools or fewer in each. Tools of one namespace are sent together, at the place of
/// the first, with the description that one has. A call names the tool itself. Other providers get
/// plain tools, and the namespace is among the losses.
///
/// ```
/// use serde_json::json;
/// use toolbox::definition::Namespace;
/// use toolbox::dialect::Dialect;
/// use toolbox::{Tool, ToolBox};
///
/// let crm = Namespace::new("crm", "Customers and their orders.")?;
/// let find = Tool::new("find_customer", "Finds a customer.").call(|_| "none");
/// let toolbox = ToolBox::from(vec![find.in_namespace(crm)]);
/// let list = toolbox.definitions_for(Dialect::OpenAiResponses).to_value();
/// assert_eq!(list[0]["type"], "namespace");
/// assert_eq!(list[0]["tools"][0]["name"], "find_customer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    name: String,
    description: String,
}

impl Namespace {
    /// Returns a namespace. The description should say what its tools are for: the service requires
    /// one, and an empty one is replaced by the name.
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is none that a tool could have.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Result<Self, InvalidNameError> {
        let (name, mut description) = (name.into(), description.into());
        check_name(&name)?;
        if description.trim().is_empty() {
            description.clone_from(&name);
        }
        Ok(Self { name, description })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }
}
