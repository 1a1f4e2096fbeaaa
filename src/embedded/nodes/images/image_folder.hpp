// SPDX-License-Identifier: Apache-2.0
// ImageFolder: the images that a lab was given, unpacked in its data folder: images/ID/image.json
// and images/ID/root. Made of an OCI layout or an archive that `skopeo` or `podman save` wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "embedded/nodes/images/layer.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// One image: {name, id, entrypoint: [..], cmd: [..], env: ["NAME=VALUE"..], user, group
// (numbers, where the image names some), workingDir}. `id` names its folder; empty: it has no files
// of its own.
struct LoadedImage {
  Value value{};
  LayerTally tally{};
};

// Holds no state but the path. Several processes may use it.
class ImageFolder {
 public:
  // Names the images of the lab with the data folder `data`.
  explicit ImageFolder(const std::string& data) : path_(data + "/images") {}

  // Unpacks the image of `source`, a folder or an archive, in place of one of the same name.
  // `name`: under which pods name it; empty: as the image says. `settings`: members of its value
  // that take the place of the image's, where they are not empty. Errors: 400 where it is no image
  // or a hostile one, 409 where it has no name.
  [[nodiscard]] Result<LoadedImage> load(const std::string& source, const std::string& name,
                                         const Value& settings = {},
                                         const LayerLimits& limits = {}) const;
  // Returns all of them, by name.
  [[nodiscard]] std::vector<Value> list() const;
  // Returns a number that changes when an image comes or goes; 0: there was none yet.
  [[nodiscard]] std::int64_t changed() const;
  // Removes the image of that name. Error: 404.
  [[nodiscard]] Result<void> remove(const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace athanor::nodes
