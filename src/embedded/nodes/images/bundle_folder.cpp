// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/images/bundle_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/digest.hpp"
#include "base/files/descriptor.hpp"
#include "base/files/folder.hpp"
#include "base/files/inside.hpp"
#include "base/files/scratch_folder.hpp"
#include "embedded/nodes/images/layer.hpp"
#include "embedded/nodes/images/oci_blob.hpp"
#include "embedded/nodes/images/tar_file.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kRefName = "org.opencontainers.image.ref.name";
constexpr std::string_view kFullRefName = "io.containerd.image.name";
constexpr std::string_view kBundleDigest = "sha256:";

// "HOST/NAME:TAG" or "HOST/NAME@sha256:HEX" taken apart.
struct BundleName {
  std::string place{};   // HOST/NAME
  std::string tag{};     // "latest" where neither is given
  std::string digest{};  // "sha256:HEX", or empty
};

// A layout below the folder of bundles, or a folder of its own.
struct BundleLayout {
  std::string root{};
  std::string prefix{};  // of paths in it
};

BundleName bundle_name(const std::string& text) {
  BundleName name{.place = text.substr(0, text.find('@'))};
  if (name.place.size() < text.size()) {
    name.digest = text.substr(name.place.size() + 1);
  }
  const std::size_t colon = name.place.rfind(':');
  const std::size_t slash = name.place.rfind('/');
  if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
    name.tag = name.place.substr(colon + 1);
    name.place.erase(colon);
  } else {
    name.tag = "latest";
  }
  return name;
}

// Opens a regular file of at most `most` bytes, on a path without links.
Result<Descriptor> open_below(const BundleLayout& layout, const std::string& name,
                              std::int64_t most) {
  const std::string path = layout.prefix + name;
  const Descriptor root(::open(layout.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Descriptor file = open_inside(root.get(), path, O_RDONLY | O_NONBLOCK, Links::Refused);
  if (!file.valid()) {
    const bool leads_away = errno == ELOOP || errno == EXDEV;
    return leads_away ? Error::bad_request(fmt::format("{} is a link, which is not followed", path))
                      : Error::not_found(fmt::format("{} is not in it", path));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error::bad_request(fmt::format("{} is no file", path));
  }
  if (status.st_size > most) {
    return Error::bad_request(fmt::format("{} is larger than {} KiB", path, most >> 10));
  }
  return file;
}

Result<std::string> read_below(const BundleLayout& layout, const std::string& path,
                               std::int64_t most) {
  ATHANOR_TRY(const Descriptor file, open_below(layout, path, most));
  std::string text(static_cast<std::size_t>(most) + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

// Reads a blob whose content has its digest.
Result<std::string> read_blob(const BundleLayout& layout, std::string_view digest,
                              std::int64_t most) {
  if (!digest.starts_with(kBundleDigest)) {
    return Error::bad_request(fmt::format("\"{}\" is no sha256 digest", digest));
  }
  ATHANOR_TRY(const std::string path, oci_blob_path(digest));
  ATHANOR_TRY(std::string text, read_below(layout, path, most));
  if (sha256_hex(text) != digest.substr(kBundleDigest.size())) {
    return Error::bad_request(fmt::format("{} has another digest than its name", path));
  }
  return text;
}

// Returns the digest of the bundle's manifest. An index of one manifest without a name has every
// tag.
Result<std::string> manifest_digest(const Value& index, const BundleName& name) {
  const Value& manifests = index["manifests"];
  for (const Value& one : manifests.items()) {
    const std::string digest = one["digest"].str();
    const Value& notes = one["annotations"];
    const std::string ref = notes[kRefName].str();
    const std::string full = notes[kFullRefName].str();
    const std::string whole = name.place + ":" + name.tag;
    const bool unnamed = ref.empty() && full.empty() && manifests.size() == 1;
    const bool named = ref == name.tag || ref == whole || full == whole;
    if (name.digest.empty() ? named || unnamed : digest == name.digest) {
      return digest;
    }
  }
  return Error::not_found(fmt::format(
      "its index has no {}", name.digest.empty() ? "tag " + name.tag : "digest " + name.digest));
}

// Returns the only file of a layer.
Result<std::string> only_file(const BundleLayout& layout, const std::string& digest,
                              const BundleLimits& limits) {
  ATHANOR_TRY_VOID(read_blob(layout, digest, limits.object_bytes));
  ATHANOR_TRY(const std::string path, oci_blob_path(digest));
  ATHANOR_TRY(const Descriptor file, open_below(layout, path, limits.object_bytes));
  ATHANOR_TRY(TarFile tar, TarFile::open(path_of_open(file.get())));
  ATHANOR_TRY(const std::optional<TarEntry> entry, tar.next());
  if (!entry || entry->type != TarEntry::Type::File) {
    return Error::bad_request(fmt::format("layer {} holds no file", digest));
  }
  if (entry->size > limits.object_bytes) {
    return Error::bad_request(
        fmt::format("layer {} holds more than {} KiB", digest, limits.object_bytes >> 10));
  }
  std::string text(static_cast<std::size_t>(entry->size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    ATHANOR_TRY(const std::size_t count, tar.read(text.data() + size, text.size() - size));
    if (count == 0) {
      return Error::bad_request(fmt::format("layer {} is cut short", digest));
    }
    size += count;
  }
  ATHANOR_TRY(const std::optional<TarEntry> another, tar.next());
  if (another) {
    return Error::bad_request(fmt::format("layer {} holds more than one file", digest));
  }
  return text;
}

Result<Value> read_json_text(const std::string& text) {
  auto parsed = json::parse(text);
  return parsed.ok() ? std::move(parsed) : parsed.error().with_context("a file of it is no JSON");
}

// Returns the digest of the layer with the wanted object. Each layer must say what it holds.
Result<std::string> layer_of(const Value& manifest, const Value& question,
                             const BundleLimits& limits) {
  const Value& layers = manifest["layers"];
  if (!layers.is_list()) {
    return Error::bad_request("it is an index of images, no bundle");
  }
  if (layers.size() > limits.objects) {
    return Error::bad_request(
        fmt::format("contained more than the maximum {} allow objects", limits.objects));
  }
  std::string found;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Value& notes = layers[i]["annotations"];
    for (const char* part : {"apiVersion", "kind", "name"}) {
      if (notes[fmt::format("dev.tekton.image.{}", part)].str().empty()) {
        return Error::bad_request(
            fmt::format("the layer {} does not contain a dev.tekton.image.{} annotation", i, part));
      }
    }
    if (found.empty() && notes["dev.tekton.image.kind"].str() == question["kind"].as_string() &&
        notes["dev.tekton.image.name"].str() == question["name"].as_string()) {
      found = layers[i]["digest"].str();
    }
  }
  if (found.empty()) {
    return Error::not_found(fmt::format("could not find object in image with kind: {} and name: {}",
                                        question["kind"].str(), question["name"].str()));
  }
  return found;
}

Result<Value> read_bundle_layout(const BundleLayout& layout, const BundleName& name,
                                 const Value& question, const BundleLimits& limits) {
  ATHANOR_TRY(const std::string index_text, read_below(layout, "index.json", limits.object_bytes));
  ATHANOR_TRY(const Value index, read_json_text(index_text));
  ATHANOR_TRY(const std::string digest, manifest_digest(index, name));
  ATHANOR_TRY(const std::string manifest_text, read_blob(layout, digest, limits.object_bytes));
  ATHANOR_TRY(const Value manifest, read_json_text(manifest_text));
  ATHANOR_TRY(const std::string layer, layer_of(manifest, question, limits));
  ATHANOR_TRY(const std::string text, only_file(layout, layer, limits));
  return Value::object(
      {{"text", text}, {"uri", name.place}, {"digest", digest.substr(kBundleDigest.size())}});
}

Result<Value> found_bundle(const Value& question, const BundleLimits& limits) {
  const BundleName name = bundle_name(question["bundle"].str());
  if (!is_path_below(name.place)) {
    return Error::bad_request("it is no name of a bundle");
  }
  const std::string folder = question["folder"].str();
  std::error_code ignored;
  if (std::filesystem::is_directory(folder + "/" + name.place, ignored)) {
    return read_bundle_layout({folder, name.place + "/"}, name, question, limits);
  }
  const auto archive = open_below({folder, ""}, name.place + ".tar", limits.archive_bytes);
  if (!archive.ok() && archive.error().code == 404) {
    return Error::not_found(fmt::format("neither {0} nor {0}.tar is in {1}", name.place, folder));
  }
  if (!archive.ok()) {
    return archive.error();
  }
  ATHANOR_TRY(
      const ScratchFolder scratch,
      ScratchFolder::make(std::filesystem::temp_directory_path(ignored), "athanor-bundle-"));
  LayerTally tally;
  ATHANOR_TRY_VOID(unpack_layer(path_of_open(archive->get()), scratch.path(), LayerKind::Archive,
                                {.bytes = limits.archive_bytes, .entries = limits.archive_entries},
                                tally));
  return read_bundle_layout({scratch.path(), ""}, name, question, limits);
}

}  // namespace

Result<Value> read_bundle(const std::string& query, const BundleLimits& limits) {
  const auto question = json::parse(query.substr(std::min(query.find(':') + 1, query.size())));
  if (!question.ok()) {
    return Error::bad_request("the question names no bundle");
  }
  auto found = found_bundle(*question, limits);
  if (!found.ok()) {
    return found.error().with_context(
        fmt::format("cannot read bundle '{}'", (*question)["bundle"].str()));
  }
  return found;
}

}  // namespace athanor::nodes
