// SPDX-License-Identifier: Apache-2.0
// The life of a ConfigMap through kube; one line on stdout for each step.
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

fn code<T>(result: Result<T, kube::Error>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(other) => panic!("{other}"),
    }
}

fn text(map: &ConfigMap) -> String {
    serde_json::to_string(&map.data).unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let namespace = std::env::args().nth(1).expect("a namespace");
    let name = "from-rust";
    let client = Client::try_default().await?;
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let before = maps.list(&ListParams::default()).await?.metadata.resource_version.unwrap();

    let body: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"by": "rust"}}, "data": {"a": "1"}}))?;
    let made = maps.create(&PostParams::default(), &body).await?;
    println!("created {}", text(&made));
    let listed = maps.list(&ListParams::default().labels("by=rust")).await?;
    println!("listed {}", listed.items.iter().map(|one| one.name_any()).collect::<String>());
    let change = json!({"data": {"b": "2"}});
    let patched = maps.patch(name, &PatchParams::default(), &Patch::Merge(&change)).await?;
    println!("patched {}", text(&patched));
    println!("stale {}", code(maps.replace(name, &PostParams::default(), &made).await));
    maps.delete(name, &DeleteParams::default()).await?;
    println!("absent {}", code(maps.get(name).await));

    let mut events = maps.watch(&WatchParams::default(), &before).await?.boxed();
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await? {
        let (kind, map) = match event {
            WatchEvent::Added(map) => ("ADDED", map),
            WatchEvent::Modified(map) => ("MODIFIED", map),
            WatchEvent::Deleted(map) => ("DELETED", map),
            _ => continue,
        };
        if map.name_any() == name {
            seen.push(kind);
            if kind == "DELETED" {
                break;
            }
        }
    }
    println!("watched {}", seen.join(","));
    Ok(())
}
