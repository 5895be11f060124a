//! The lists of prompts, resources and templates of a box.

use std::sync::Arc;

use serde::Serialize;

use super::pages::{PageRequest, Pages, text_in_version};
use super::protocol::{ProtocolError, ProtocolVersion};
use crate::collection::{Prompts, Resources};
use crate::prompt::Prompt;
use crate::resource::{Resource, SkillManifest};
use crate::sync::Mutex;

/// The prompts, the resources or the templates of one generation.
pub(super) struct OfferListing<T> {
    generation: u64,
    all: Vec<T>,
    pages: Pages,
}

impl<T: Serialize> OfferListing<T> {
    fn new(generation: u64, all: Vec<T>, key: fn(&T) -> &str) -> Self {
        let pages = Pages::new(all.iter().map(|one| key(one).to_owned()).collect());
        Self { generation, all, pages }
    }

    /// Returns the answer to a request for a page, with the items under a member.
    pub(super) fn page(
        &self,
        request: &PageRequest<'_>,
        member: &str,
    ) -> Result<Vec<u8>, ProtocolError> {
        self.pages.page(request, member, || self.written(request.version))
    }

    /// Returns the item with a key.
    pub(super) fn of_key(&self, key: &str) -> Option<&T> {
        self.all.get(self.pages.position(key)?)
    }

    /// Returns whether clients see the same in another listing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let newest = ProtocolVersion::V2026_07_28;
        self.pages.texts(newest, || self.written(newest))
            == other.pages.texts(newest, || other.written(newest))
    }

    fn written(&self, version: ProtocolVersion) -> Vec<String> {
        let texts = self.all.iter().map(serde_json::to_string);
        texts.flatten().map(|text| text_in_version(text, version)).collect()
    }
}

/// A skill as clients see it.
pub(super) struct ServedSkill {
    resource: Resource,
}

impl ServedSkill {
    fn all(resources: &Resources) -> Vec<Self> {
        resources.skills().into_iter().map(|resource| Self { resource }).collect()
    }

    pub(super) fn uri(&self) -> &str {
        self.resource.uri()
    }
}

impl Serialize for ServedSkill {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Entry<'a> {
            uri: &'a str,
            #[serde(flatten)]
            manifest: Option<&'a SkillManifest>,
        }
        Entry { uri: self.uri(), manifest: self.resource.skill() }.serialize(serializer)
    }
}

type Cached<T> = Mutex<Option<Arc<OfferListing<T>>>>;

/// The cached lists of a box, each made again for a new generation.
#[derive(Default)]
pub(super) struct OfferListings {
    prompts: Cached<Prompt>,
    resources: Cached<Resource>,
    templates: Cached<Resource>,
    skills: Cached<ServedSkill>,
}

impl OfferListings {
    pub(super) fn prompts(&self, prompts: &Prompts) -> Arc<OfferListing<Prompt>> {
        current(&self.prompts, prompts.generation(), || prompts.list(), Prompt::name)
    }

    pub(super) fn resources(&self, resources: &Resources) -> Arc<OfferListing<Resource>> {
        let list = || resources.list().into_iter().filter(|own| !own.is_template()).collect();
        current(&self.resources, resources.generation(), list, Resource::uri)
    }

    pub(super) fn templates(&self, resources: &Resources) -> Arc<OfferListing<Resource>> {
        let list = || resources.list().into_iter().filter(Resource::is_template).collect();
        current(&self.templates, resources.generation(), list, Resource::uri)
    }

    pub(super) fn skills(&self, resources: &Resources) -> Arc<OfferListing<ServedSkill>> {
        let list = || ServedSkill::all(resources);
        current(&self.skills, resources.generation(), list, ServedSkill::uri)
    }
}

fn current<T: Serialize>(
    cached: &Cached<T>,
    generation: u64,
    list: impl FnOnce() -> Vec<T>,
    key: fn(&T) -> &str,
) -> Arc<OfferListing<T>> {
    let mut cached = cached.lock();
    match &*cached {
        Some(listing) if listing.generation == generation => Arc::clone(listing),
        _ => {
            let listing = Arc::new(OfferListing::new(generation, list(), key));
            *cached = Some(Arc::clone(&listing));
            listing
        }
    }
}
