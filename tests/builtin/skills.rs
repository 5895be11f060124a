//! A folder of skills as a tool.

use crate::bounded::tokio;
use std::fs;
use std::path::PathBuf;

use serde_json::json;
use toolbox::ToolBox;
use toolbox::builtin::skills::Skills;
use toolbox::testing::{ScriptedModel, check};

use support::call;

/// A folder of its own for one test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("toolbox-{name}-{}", std::process::id()));
        let folder = Self(path);
        for (file, text) in files {
            let file = folder.0.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_folder_of_skills_is_a_tool_that_loads_them() {
    let folder = Folder::new(
        "skills",
        &[
            (
                "review/SKILL.md",
                "---\nname: code-review\ndescription: How we review\n---\n\nRead it twice.\n",
            ),
            ("review/checklist.md", "- tests\n"),
            ("deploy.md", "# Deploy a service\n\nPush the button.\n"),
            ("notes.txt", "no skill"),
            ("empty/readme.md", "no skill either"),
        ],
    );
    let toolbox = ToolBox::new();
    toolbox.register(Skills::from_folder(&folder.0).unwrap());
    let tool = toolbox.get("load_skill").unwrap();
    assert_eq!(
        tool.description().lines().skip(1).collect::<Vec<_>>(),
        ["- code-review: How we review", "- deploy: Deploy a service"]
    );
    assert_eq!(
        tool.definition().input_schema["properties"]["name"]["enum"],
        json!(["code-review", "deploy"])
    );

    let text = call(&tool, r#"{"name":"code-review"}"#).text().into_owned();
    assert_eq!(text, "Read it twice.\n\nFiles that come with this skill: checklist.md");
    // A name is looked up among those found; it is never a path.
    for name in ["../deploy", "/etc/passwd", "deploy.md", "deplo", ""] {
        let result = call(&tool, json!({ "name": name }));
        assert_eq!(result.code(), Some("args.not_one_of"), "{name}");
    }

    let model = ScriptedModel::new().calls("load_skill", r#"{"name":"deploy"}"#).text("pushed");
    let agent = toolbox::Agent::builder(model).toolbox(toolbox).build().unwrap();
    let outcome = agent.run("Deploy it.").await.unwrap();
    check(&outcome.history)
        .calls("load_skill", json!({"name": "deploy"}))
        .returns("# Deploy a service\n\nPush the button.")
        .answers("pushed");
}

#[test]
fn a_folder_that_cannot_be_used_says_why() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, Files<'_>, &str); 3] = [
        ("none", &[("a.txt", "x")], "no skill is in "),
        (
            "twins",
            &[("a.md", "---\nname: x\n---\na"), ("b.md", "---\nname: x\n---\nb")],
            "two skills are named `x`",
        ),
        (
            "large",
            &[("a.md", &"x".repeat((256 << 10) + 1))],
            "262145 bytes; a skill may have 262144",
        ),
    ];
    for (name, files, says) in cases {
        let folder = Folder::new(name, files);
        let error = Skills::from_folder(&folder.0).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(
        Skills::from_folder("no/such/folder").unwrap_err().to_string().starts_with("cannot read")
    );
}

#[cfg(unix)]
#[test]
fn no_file_outside_of_the_folder_is_read() {
    use std::os::unix::fs::symlink;

    type Make<'a> = Box<dyn Fn(&std::path::Path) + 'a>;
    let outside = Folder::new("outside", &[("secret.md", "SECRET"), ("s/SKILL.md", "SECRET")]);
    let at = |name: &str| outside.0.join(name);
    // What is made in a folder with one skill, and why the folder cannot be used then.
    let cases: [(&str, Make<'_>, Option<&str>); 6] = [
        (
            "link",
            Box::new(|to| symlink(at("secret.md"), to.join("b.md")).unwrap()),
            Some("is a link to a place outside"),
        ),
        (
            "linked-folder",
            Box::new(|to| symlink(at("s"), to.join("b")).unwrap()),
            Some("is a link to a place outside"),
        ),
        (
            "hard",
            Box::new(|to| std::fs::hard_link(at("secret.md"), to.join("b.md")).unwrap()),
            Some("or a hard link"),
        ),
        (
            "nowhere",
            Box::new(|to| symlink("nowhere", to.join("b.md")).unwrap()),
            Some("cannot read"),
        ),
        (
            "pipe",
            Box::new(|to| {
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, to.join("b.md"), kind, 0o600.into(), 0)
                    .unwrap();
            }),
            Some("it is no file"),
        ),
        ("within", Box::new(|to| symlink("a", to.join("b")).unwrap()), None),
    ];
    for (name, make, expected) in cases {
        let folder = Folder::new(name, &[("a/SKILL.md", "fine")]);
        make(&folder.0);
        match (Skills::from_folder(&folder.0), expected) {
            (Ok(skills), None) => assert_eq!(skills.skills().len(), 2, "{name}"),
            (Err(error), Some(says)) => assert!(error.to_string().contains(says), "{error}"),
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}
