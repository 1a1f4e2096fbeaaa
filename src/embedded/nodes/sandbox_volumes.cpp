// SPDX-License-Identifier: Apache-2.0
// Resolving volumes.
#include "embedded/nodes/sandbox_volumes.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "embedded/nodes/resources/resource_field.hpp"
#include "embedded/nodes/sandbox_spec.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::nodes {
namespace {

constexpr std::int64_t kDefaultMode = 0644;
constexpr std::int64_t kTokenSeconds = 3607;

class VolumeBuilder {
 public:
  VolumeBuilder(const View& view, const Object& pod, std::vector<std::string>& problems)
      : view_(view), pod_(pod), problems_(problems) {}

  Value build(const Value& volume) {
    name_ = volume["name"].str();
    files_ = Value::list();
    tokens_ = Value::list();
    Value result = Value::object({{"name", name_}, {"type", "files"}});
    if (volume.contains("emptyDir") || volume.contains("ephemeral")) {
      add_empty(volume["emptyDir"], result);
    } else if (volume.contains("persistentVolumeClaim")) {
      add_claim(volume["persistentVolumeClaim"]["claimName"].str(), result);
      if (volume["persistentVolumeClaim"]["readOnly"].as_bool()) {
        result.set("readOnly", true);
      }
    } else if (volume.contains("secret")) {
      const Value& source = volume["secret"];
      add_keys(api::kSecret, source["secretName"].str(), source, mode_of(source));
    } else if (volume.contains("configMap")) {
      const Value& source = volume["configMap"];
      add_keys(api::kConfigMap, source["name"].str(), source, mode_of(source));
    } else if (volume.contains("downwardAPI")) {
      add_fields(volume["downwardAPI"], mode_of(volume["downwardAPI"]));
    } else if (volume.contains("projected")) {
      add_projected(volume["projected"]);
    } else {
      std::string source = "nothing";
      for (const Member& member : volume.members()) {
        source = member.key() == "name" ? source : std::string(member.key());
      }
      problems_.push_back(
          fmt::format("MountVolume.SetUp failed for volume \"{}\" : {} volumes are not supported "
                      "on emulated nodes",
                      name_, source));
    }
    result.set("files", files_);
    if (!tokens_.empty()) {
      result.set("tokens", tokens_);
      result.set("serviceAccount", pod_.spec()["serviceAccountName"]);
    }
    return result;
  }

 private:
  static std::int64_t mode_of(const Value& source) {
    return source["defaultMode"].as_int(kDefaultMode);
  }

  void add_claim(const std::string& claim, Value& result) {
    if (!view_.get(api::kPersistentVolumeClaim, {std::string(pod_.ns()), claim})) {
      problems_.push_back(fmt::format("persistentvolumeclaim \"{}\" not found", claim));
    }
    result.set("type", "claim");
    result.set("claim", claim);
  }

  void add_file(std::string_view path, Value base64, std::int64_t mode) {
    files_.push_back(Value::object({{"path", path}, {"data", std::move(base64)}, {"mode", mode}}));
  }

  // The keys of a Secret or ConfigMap, all of them or the items named.
  void add_keys(const Kind& kind, const std::string& name, const Value& source, std::int64_t mode) {
    const bool secret = &kind == &api::kSecret;
    const auto object = view_.get(kind, {std::string(pod_.ns()), name});
    if (!object) {
      if (!source["optional"].as_bool()) {
        problems_.push_back(
            fmt::format("MountVolume.SetUp failed for volume \"{}\" : {} \"{}\" not found", name_,
                        secret ? "secret" : "configmap", name));
      }
      return;
    }
    const auto data_of = [&](std::string_view key) -> Value {
      if (const Value* data = object->body()["data"].find(key)) {
        return secret ? *data : Value(base64_encode(data->as_string()));
      }
      return object->body()["binaryData"][key];
    };
    if (source["items"].empty()) {
      for (const char* part : {"data", "binaryData"}) {
        for (const Member& entry : object->body()[part].members()) {
          add_file(entry.key(), data_of(entry.key()), mode);
        }
      }
      return;
    }
    for (const Value& item : source["items"].items()) {
      Value data = data_of(item["key"].as_string());
      if (data.is_null()) {
        if (!source["optional"].as_bool()) {
          problems_.push_back(fmt::format(
              "MountVolume.SetUp failed for volume \"{}\" : references non-existent {} key: {}",
              name_, secret ? "secret" : "config", item["key"].as_string()));
        }
        continue;
      }
      add_file(item["path"].as_string(), std::move(data), item["mode"].as_int(mode));
    }
  }

  void add_fields(const Value& source, std::int64_t mode) {
    for (const Value& item : source["items"].items()) {
      const std::string text =
          item.contains("resourceFieldRef")
              ? resource_field(view_, pod_,
                               referenced_container(pod_, item["resourceFieldRef"], Value()),
                               item["resourceFieldRef"])
              : pod_field(pod_, {}, item["fieldRef"]["fieldPath"].as_string()).value_or("");
      add_file(item["path"].as_string(), base64_encode(text), item["mode"].as_int(mode));
    }
  }

  // One in memory has a limit: its own, or what the node can give. One on the disk is measured.
  void add_empty(const Value& source, Value& result) {
    result.set("type", "empty");
    const auto limit = Quantity::parse(source["sizeLimit"]);
    if (source["medium"].as_string() == "Memory") {
      result.set("memory", true);
      result.set("sizeBytes", limit ? limit->value() : 0);
    } else if (limit && !limit->is_zero()) {
      result.set("limitBytes", limit->value());
      result.set("limit", source["sizeLimit"].str());
    }
  }

  void add_projected(const Value& projected) {
    const std::int64_t mode = mode_of(projected);
    for (const Value& source : projected["sources"].items()) {
      if (source.contains("secret")) {
        add_keys(api::kSecret, source["secret"]["name"].str(), source["secret"], mode);
      } else if (source.contains("configMap")) {
        add_keys(api::kConfigMap, source["configMap"]["name"].str(), source["configMap"], mode);
      } else if (source.contains("downwardAPI")) {
        add_fields(source["downwardAPI"], mode);
      } else if (source.contains("serviceAccountToken")) {
        const Value& token = source["serviceAccountToken"];
        tokens_.push_back(
            Value::object({{"path", token["path"]},
                           {"audience", token["audience"]},
                           {"seconds", token["expirationSeconds"].as_int(kTokenSeconds)}}));
      } else {
        problems_.push_back(fmt::format(
            "MountVolume.SetUp failed for volume \"{}\" : projections of {} are not supported on "
            "emulated nodes",
            name_, source.members().empty() ? "nothing" : source.members()[0].key()));
      }
    }
  }

  const View& view_;
  const Object& pod_;
  std::vector<std::string>& problems_;
  std::string name_{};
  Value files_{};
  Value tokens_{};
};

}  // namespace

Value sandbox_volumes(const View& view, const Object& pod, std::vector<std::string>& problems) {
  VolumeBuilder builder(view, pod, problems);
  Value volumes = Value::list();
  for (const Value& volume : pod.spec()["volumes"].items()) {
    volumes.push_back(builder.build(volume));
  }
  return volumes;
}

std::string volumes_digest(const Value& volumes) {
  const bool any = std::ranges::any_of(
      volumes.items(), [](const Value& volume) { return volume["type"].as_string() == "files"; });
  return any ? sha256_hex(json::print(volumes)) : std::string();
}

}  // namespace athanor::nodes
