// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/volume_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/field_refs.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kMaxFileMode = 0777;
constexpr std::int64_t kMinTokenSeconds = 600;
constexpr std::int64_t kMaxTokenSeconds = std::int64_t{1} << 32;

bool has_backstep(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    if (path.substr(0, end) == "..") {
      return true;
    }
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  }
  return false;
}

void check_mode(FieldErrors& errors, const std::string& path, const Value& mode) {
  if (mode.is_number() && (mode.as_int() < 0 || mode.as_int() > kMaxFileMode)) {
    errors.push_back(FieldError::invalid(
        path, mode, "must be a number between 0 and 0777 (octal), both inclusive"));
  }
}

// A path below the volume.
void check_local_path(FieldErrors& errors, const std::string& path, std::string_view text) {
  check_descending_path(errors, path, text);
  if (text.starts_with("..") && !text.starts_with("../")) {
    errors.push_back(FieldError::invalid(path, text, "must not start with '..'"));
  }
}

void check_items(FieldErrors& errors, const Value& items, const std::string& path) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string here = at(path, i);
    require(errors, here + ".key", items[i]["key"]);
    require(errors, here + ".path", items[i]["path"]);
    check_local_path(errors, here + ".path", items[i]["path"].as_string());
    check_mode(errors, here + ".mode", items[i]["mode"]);
  }
}

void check_downward_file(FieldErrors& errors, const Value& file, const std::string& path) {
  require(errors, path + ".path", file["path"]);
  check_local_path(errors, path + ".path", file["path"].as_string());
  if (file["fieldRef"].is_object()) {
    check_field_ref(errors, file["fieldRef"], path + ".fieldRef", FieldRefIn::Volume);
    if (file["resourceFieldRef"].is_object()) {
      errors.push_back(FieldError::invalid(
          path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (file["resourceFieldRef"].is_object()) {
    check_resource_ref(errors, file["resourceFieldRef"], path + ".resourceFieldRef",
                       FieldRefIn::Volume);
  } else {
    errors.push_back(
        FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
  }
  check_mode(errors, path + ".mode", file["mode"]);
}

// Paths that several sources of one projected volume want.
class Taken {
 public:
  Taken(FieldErrors& errors, const std::string& path) : errors_(errors), path_(path) {}

  void add(const Value& wanted, std::string_view shown) {
    const std::string text = wanted.str();
    if (!text.empty() && !seen_.insert(text).second) {
      errors_.push_back(FieldError::invalid(path_, shown, "conflicting duplicate paths"));
    }
  }

 private:
  FieldErrors& errors_;
  const std::string& path_;
  std::set<std::string> seen_{};
};

void check_token(FieldErrors& errors, const Value& token, const std::string& source,
                 const std::string& volume) {
  const Value& seconds = token["expirationSeconds"];
  if (seconds.as_int() < kMinTokenSeconds) {
    errors.push_back(FieldError::invalid(source + ".expirationSeconds", seconds.as_int(),
                                         "may not specify a duration less than 10 minutes"));
  }
  if (seconds.as_int() > kMaxTokenSeconds) {
    errors.push_back(FieldError::invalid(source + ".expirationSeconds", seconds,
                                         "may not specify a duration larger than 2^32 seconds"));
  }
  // The reference names the volume here, not the source.
  if (require(errors, volume + ".path", token["path"])) {
    check_local_path(errors, volume + ".path", token["path"].as_string());
  }
}

void check_projected(FieldErrors& errors, const Value& projected, const std::string& path) {
  check_mode(errors, path + ".defaultMode", projected["defaultMode"]);
  Taken taken(errors, path);
  const Value& sources = projected["sources"];
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Value& source = sources[i];
    const std::string here = at(path + ".sources", i);
    std::size_t count = 0;
    for (const std::string_view kind : {"secret", "configMap"}) {
      const Value& one = source[kind];
      if (!one.is_object()) {
        continue;
      }
      ++count;
      const std::string inner = below(here, kind);
      require(errors, inner + ".name", one["name"]);
      check_items(errors, one["items"], inner + ".items");
      for (const Value& item : one["items"].items()) {
        taken.add(item["path"], one["name"].as_string());
      }
    }
    if (source["downwardAPI"].is_object()) {
      ++count;
      for (const Value& file : source["downwardAPI"]["items"].items()) {
        check_downward_file(errors, file, here + ".downwardAPI");
        taken.add(file["path"], file["path"].as_string());
      }
    }
    if (source["serviceAccountToken"].is_object()) {
      ++count;
      check_token(errors, source["serviceAccountToken"], here + ".serviceAccountToken", path);
    }
    if (count > 1) {
      errors.push_back(
          FieldError::forbidden(here, "may not specify more than 1 volume type per source"));
    }
  }
}

void check_empty_dir(FieldErrors& errors, const Value& source, const std::string& path) {
  const auto limit = Quantity::parse(source["sizeLimit"]);
  if (limit && limit->is_negative()) {
    errors.push_back(FieldError::forbidden(path + ".sizeLimit",
                                           "SizeLimit field must be a valid resource quantity"));
  }
}

}  // namespace

void check_access_modes(FieldErrors& errors, const Value& modes, const std::string& path) {
  bool alone = false;
  bool shared = false;
  const std::vector<std::string> known = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                          "ReadWriteOncePod"};
  for (const Value& mode : modes.items()) {
    if (std::find(known.begin(), known.end(), mode.as_string()) == known.end()) {
      errors.push_back(FieldError::not_supported(path, Value(mode.as_string()), known));
    } else {
      (mode.as_string() == "ReadWriteOncePod" ? alone : shared) = true;
    }
  }
  if (alone && shared) {
    errors.push_back(
        FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  }
}

void check_descending_path(FieldErrors& errors, const std::string& path, std::string_view text) {
  if (text.starts_with('/')) {
    errors.push_back(FieldError::invalid(path, text, "must be a relative path"));
  }
  if (has_backstep(text)) {
    errors.push_back(FieldError::invalid(path, text, "must not contain '..'"));
  }
}

void check_host_path(FieldErrors& errors, const Value& source, const std::string& path) {
  if (!require(errors, path + ".path", source["path"])) {
    return;
  }
  if (has_backstep(source["path"].as_string())) {
    errors.push_back(FieldError::invalid(path + ".path", source["path"], "must not contain '..'"));
  }
  check_choice(errors, path + ".type", source["type"],
               {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                "FileOrCreate", "Socket"});
}

void check_nfs(FieldErrors& errors, const Value& source, const std::string& path) {
  require(errors, path + ".server", source["server"]);
  require(errors, path + ".path", source["path"]);
  if (!source["path"].as_string().starts_with('/')) {
    errors.push_back(
        FieldError::invalid(path + ".path", source["path"].str(), "must be an absolute path"));
  }
}

void check_claim_spec(FieldErrors& errors, const Value& spec, const std::string& path) {
  if (spec["accessModes"].empty()) {
    errors.push_back(
        FieldError::required(path + ".accessModes", "at least 1 access mode is required"));
  }
  check_access_modes(errors, spec["accessModes"], path + ".accessModes");
  const Value& storage = spec["resources"]["requests"]["storage"];
  const std::string storage_path = path + ".resources[storage]";
  const auto amount = Quantity::parse(storage);
  if (storage.is_null() && !spec["resources"]["requests"].contains("storage")) {
    errors.push_back(FieldError::required(storage_path));
  } else if (!amount || amount->is_negative() || amount->is_zero()) {
    errors.push_back(FieldError::invalid(storage_path, amount ? amount->text() : std::string("0"),
                                         "must be greater than zero"));
  }
  if (!spec["volumeMode"].is_null()) {
    check_choice_always(errors, path + ".volumeMode", spec["volumeMode"], {"Block", "Filesystem"});
  }
  for (const std::string_view field : {"storageClassName", "volumeAttributesClassName"}) {
    if (const std::string_view name = spec[field].as_string(); !name.empty()) {
      check_name(errors, below(path, field), name, &validate_dns1123_subdomain);
    }
  }
  if (!spec["selector"].is_null()) {
    check_label_selector(errors, path + ".selector", spec["selector"]);
  }
}

void check_volume_source(FieldErrors& errors, const Value& volume, const std::string& path) {
  if (volume["emptyDir"].is_object()) {
    check_empty_dir(errors, volume["emptyDir"], path + ".emptyDir");
  }
  if (volume["hostPath"].is_object()) {
    check_host_path(errors, volume["hostPath"], path + ".hostPath");
  }
  if (volume["nfs"].is_object()) {
    check_nfs(errors, volume["nfs"], path + ".nfs");
  }
  if (const Value& secret = volume["secret"]; secret.is_object()) {
    require(errors, path + ".secret.secretName", secret["secretName"]);
    check_mode(errors, path + ".secret.defaultMode", secret["defaultMode"]);
    check_items(errors, secret["items"], path + ".secret.items");
  }
  if (const Value& config = volume["configMap"]; config.is_object()) {
    require(errors, path + ".configMap.name", config["name"]);
    check_mode(errors, path + ".configMap.defaultMode", config["defaultMode"]);
    check_items(errors, config["items"], path + ".configMap.items");
  }
  if (const Value& claim = volume["persistentVolumeClaim"]; claim.is_object()) {
    require(errors, path + ".persistentVolumeClaim.claimName", claim["claimName"]);
  }
  if (const Value& downward = volume["downwardAPI"]; downward.is_object()) {
    check_mode(errors, path + ".downwardAPI.defaultMode", downward["defaultMode"]);
    for (const Value& file : downward["items"].items()) {
      check_downward_file(errors, file, path + ".downwardAPI");
    }
  }
  if (volume["projected"].is_object()) {
    check_projected(errors, volume["projected"], path + ".projected");
  }
}

}  // namespace athanor::apiserver
