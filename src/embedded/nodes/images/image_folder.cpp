// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/images/image_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/files/descriptor.hpp"
#include "base/files/folder.hpp"
#include "base/files/inside.hpp"
#include "base/files/scratch_folder.hpp"
#include "base/files/text_file.hpp"
#include "embedded/nodes/image_entrypoints.hpp"
#include "embedded/nodes/images/oci_blob.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLayers = 512;
constexpr int kMostIndexes = 4;  // that lead to one another
constexpr std::string_view kNameAnnotation = "org.opencontainers.image.ref.name";
constexpr std::string_view kFullNameAnnotation = "io.containerd.image.name";

Result<Value> read_json(const std::string& path) {
  ATHANOR_TRY(const std::string text, read_text_file(path));
  return json::parse(text);
}

Error no_image(const std::string& why) {
  return Error::bad_request(fmt::format("no image: {}", why));
}

// Opens a file of an image's folder; links lead to other files of it alone.
Result<Descriptor> open_part(const std::string& folder, const std::string& path) {
  const Descriptor root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Descriptor file = open_inside(root.get(), path, O_RDONLY | O_NONBLOCK, Links::InRoot);
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return no_image(fmt::format("{} is no file in it", path));
  }
  return file;
}

Result<Value> read_part(const std::string& folder, const std::string& path) {
  ATHANOR_TRY(const Descriptor file, open_part(folder, path));
  auto value = read_json(path_of_open(file.get()));
  return value.ok() ? std::move(value)
                    : no_image(fmt::format("{}: {}", path, value.error().message));
}

// Parts of an image: its config, and the files of its layers in its folder, the lowest first.
struct Parts {
  std::string name{};
  Value config{};
  std::vector<std::string> layers{};
};

// Returns the file of "sha256:HEX" in an OCI layout.
Result<std::string> blob(std::string_view digest) {
  auto path = oci_blob_path(digest);
  return path.ok() ? std::move(path) : no_image(path.error().message);
}

// Chooses the manifest of an index that fits this machine.
const Value* fitting(const Value& manifests) {
#if defined(__aarch64__)
  constexpr std::string_view kMachine = "arm64";
#else
  constexpr std::string_view kMachine = "amd64";
#endif
  const Value* found = nullptr;
  for (const Value& manifest : manifests.items()) {
    const Value& platform = manifest["platform"];
    if (platform["architecture"].as_string() == kMachine && platform["os"].as_string() == "linux") {
      return &manifest;
    }
    if (!platform.is_object() && found == nullptr) {
      found = &manifest;
    }
  }
  return found;
}

Result<Parts> read_layout(const std::string& layout) {
  ATHANOR_TRY(Value document, read_part(layout, "index.json"));
  Parts parts;
  for (int depth = 0; document["manifests"].is_list(); ++depth) {
    const Value* manifest = fitting(document["manifests"]);
    if (manifest == nullptr || depth >= kMostIndexes) {
      return no_image("its index has none for this machine");
    }
    const Value& notes = (*manifest)["annotations"];
    for (const std::string_view note : {kNameAnnotation, kFullNameAnnotation}) {
      if (const std::string name = notes[note].str(); !name.empty()) {
        parts.name = name;
      }
    }
    ATHANOR_TRY(const std::string path, blob((*manifest)["digest"].as_string()));
    ATHANOR_TRY(document, read_part(layout, path));
  }
  ATHANOR_TRY(const std::string config, blob(document["config"]["digest"].as_string()));
  ATHANOR_TRY(parts.config, read_part(layout, config));
  for (const Value& layer : document["layers"].items()) {
    ATHANOR_TRY(std::string path, blob(layer["digest"].as_string()));
    parts.layers.push_back(std::move(path));
  }
  return parts;
}

// Reads what `docker save` and `podman save` write: manifest.json names config and layers.
Result<Parts> read_saved(const std::string& folder) {
  ATHANOR_TRY(const Value document, read_part(folder, "manifest.json"));
  const auto inside = [&](const Value& name) -> Result<std::string> {
    const std::string text = name.str();
    if (text.empty() || text.front() == '/' ||
        ("/" + text + "/").find("/../") != std::string::npos) {
      return no_image(fmt::format("\"{}\" is no file of it", text));
    }
    return text;
  };
  const Value& image = document[0];
  Parts parts{.name = image["RepoTags"][0].str()};
  ATHANOR_TRY(const std::string config, inside(image["Config"]));
  ATHANOR_TRY(parts.config, read_part(folder, config));
  for (const Value& layer : image["Layers"].items()) {
    ATHANOR_TRY(std::string path, inside(layer));
    parts.layers.push_back(std::move(path));
  }
  return parts;
}

Result<Parts> read_parts(const std::string& folder) {
  std::error_code ignored;
  if (fs::exists(folder + "/index.json", ignored)) {
    return read_layout(folder);
  }
  if (fs::exists(folder + "/manifest.json", ignored)) {
    return read_saved(folder);
  }
  return no_image("neither index.json (OCI layout) nor manifest.json (docker archive) is in it");
}

std::optional<std::int64_t> number_in(std::string_view text) {
  const auto number = whole_number(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// Returns the fields of the line of `name` in a file as /etc/passwd of an image; a link in place of
// the file is not followed.
std::vector<std::string> fields_of(const std::string& root, const char* file,
                                   std::string_view name) {
  std::error_code ignored;
  const std::string path = root + file;
  if (fs::is_symlink(root + "/etc", ignored) || fs::is_symlink(path, ignored)) {
    return {};
  }
  const auto text = read_text_file(path);
  for (const std::string_view line :
       text.ok() ? words_of(*text, '\n') : std::vector<std::string_view>()) {
    if (line.substr(0, line.find(':')) != name) {
      continue;
    }
    std::vector<std::string> fields;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(':', at), line.size());
      fields.emplace_back(line.substr(at, end - at));
      at = end + 1;
    }
    return fields;
  }
  return {};
}

// Sets the numbers of "USER" or "USER:GROUP", names being those of the image.
Result<void> set_user(const std::string& wanted, const std::string& root, Value& image) {
  constexpr std::size_t kNumber = 2;
  constexpr std::size_t kGroup = 3;
  const std::size_t colon = wanted.find(':');
  const std::string user = wanted.substr(0, colon);
  const std::string group = colon == std::string::npos ? std::string() : wanted.substr(colon + 1);
  if (user.empty()) {
    return {};
  }
  const std::vector<std::string> known = fields_of(root, "/etc/passwd", user);
  auto id = number_in(user);
  if (!id && known.size() > kGroup) {
    id = number_in(known[kNumber]);
    if (const auto own = number_in(known[kGroup]); own && group.empty()) {
      image.set("group", *own);
    }
  }
  if (!id) {
    return no_image(fmt::format("its user \"{}\" is not in its /etc/passwd", user));
  }
  image.set("user", *id);
  if (!group.empty()) {
    const std::vector<std::string> line = fields_of(root, "/etc/group", group);
    auto number = number_in(group);
    if (!number && line.size() > kNumber) {
      number = number_in(line[kNumber]);
    }
    if (!number) {
      return no_image(fmt::format("its group \"{}\" is not in its /etc/group", group));
    }
    image.set("group", *number);
  }
  return {};
}

Value list_of(const Value& value) {
  return value.is_list() ? value : Value::list();
}

Result<void> write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? Result<void>() : Error::internal(fmt::format("cannot write {}", path));
}

Result<void> make_folder_at(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? Error::internal(fmt::format("cannot make {}: {}", path, error.message()))
               : Result<void>();
}

}  // namespace

Result<LoadedImage> ImageFolder::load(const std::string& source, const std::string& name,
                                      const Value& settings, const LayerLimits& limits) const {
  std::error_code ignored;
  if (!fs::exists(source, ignored)) {
    return Error::not_found(fmt::format("{}: no such file or folder", source));
  }
  ATHANOR_TRY_VOID(make_folder_at(path_));
  ATHANOR_TRY(const ScratchFolder draft, ScratchFolder::make(path_, ".draft-"));
  LoadedImage image;
  std::string folder = source;
  if (!fs::is_directory(source, ignored)) {
    folder = draft.path() + "/archive";
    ATHANOR_TRY_VOID(make_folder_at(folder));
    LayerTally unpacked;
    ATHANOR_TRY_VOID(unpack_layer(source, folder, LayerKind::Archive, limits, unpacked));
  }
  ATHANOR_TRY(const Parts parts, read_parts(folder));
  if (parts.layers.size() > kMostLayers) {
    return no_image("it has too many layers");
  }
  const std::string full = full_image_name(name.empty() ? parts.name : name);
  if (full.empty()) {
    return Error::conflict("the image has no name: give it one with --name");
  }
  const std::string made = draft.path() + "/made";
  ATHANOR_TRY_VOID(make_folder_at(made + "/root"));
  for (const std::string& layer : parts.layers) {
    ATHANOR_TRY(const Descriptor file, open_part(folder, layer));
    ATHANOR_TRY_VOID(unpack_layer(path_of_open(file.get()), made + "/root", LayerKind::Image,
                                  limits, image.tally));
  }
  const Value& config = parts.config["config"];
  const std::string id = sha256_hex(full).substr(0, 32);
  image.value = Value::object({{"name", full},
                               {"id", id},
                               {"entrypoint", list_of(config["Entrypoint"])},
                               {"cmd", list_of(config["Cmd"])},
                               {"env", list_of(config["Env"])},
                               {"workingDir", config["WorkingDir"].str()}});
  ATHANOR_TRY_VOID(set_user(config["User"].str(), made + "/root", image.value));
  for (const Member& member : settings.members()) {
    const bool empty = (member.value.is_list() && member.value.empty()) ||
                       (member.value.is_string() && member.value.as_string().empty());
    if (!empty && member.key() != "name" && member.key() != "env") {
      image.value.set(member.key(), member.value);
    }
  }
  for (const Value& variable : settings["env"].items()) {
    image.value.member("env").push_back(variable);
  }
  ATHANOR_TRY_VOID(write_text(made + "/image.json", json::print(image.value)));
  const std::string place = path_ + "/" + id;
  // Running containers keep the files that they have mounted.
  const std::string old = draft.path() + "/old";
  static_cast<void>(::rename(place.c_str(), old.c_str()));
  if (::rename(made.c_str(), place.c_str()) != 0) {
    return Error::internal(fmt::format("cannot make {}", place));
  }
  return image;
}

std::vector<Value> ImageFolder::list() const {
  std::vector<Value> images;
  for (const std::string& id : names_in_folder(path_)) {
    if (id.starts_with('.')) {
      continue;
    }
    const auto image = read_json(fmt::format("{}/{}/image.json", path_, id));
    if (image.ok() && (*image)["id"].as_string() == id) {
      images.push_back(*image);
    }
  }
  std::ranges::sort(images, {}, [](const Value& image) { return image["name"].str(); });
  return images;
}

std::int64_t ImageFolder::changed() const {
  struct stat status {};
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return ::stat(path_.c_str(), &status) == 0
             ? status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec
             : 0;
}

Result<void> ImageFolder::remove(const std::string& name) const {
  const std::string full = full_image_name(name);
  for (const Value& image : list()) {
    if (image["name"].as_string() == full) {
      std::error_code error;
      fs::remove_all(fmt::format("{}/{}", path_, image["id"].as_string()), error);
      return error ? Error::internal(error.message()) : Result<void>();
    }
  }
  return Error::not_found(fmt::format("image \"{}\" is not loaded", full));
}

}  // namespace athanor::nodes
