// SPDX-License-Identifier: Apache-2.0
// What an image runs when a container names no command (docs/spec/tekton.md 12). Images are not
// pulled here, so well-known ones are in a table and others in setting run.imageEntrypoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// Returns the command line of a container of this image with these `args` and no command; nullopt
// when the image is unknown. `own` maps image names to entrypoints and wins; Null: none.
std::optional<Value> image_command(std::string_view image, const Value& args, const Value& own);

// Returns the command line of a container that names /opt/fournos/entrypoint of a well-known engine
// image, which this node has no file of; nullopt: another image or command.
std::optional<Value> engine_command(std::string_view image, const Value& command,
                                    const Value& args);

// Returns the user id that a well-known image names; nullopt: the image is unknown.
std::optional<std::int64_t> image_user(std::string_view image);

// Returns the variables that a well-known image sets.
std::vector<std::pair<std::string, std::string>> image_environment(std::string_view image);
// Returns true for images whose shell is busybox's.
bool has_busybox(std::string_view image);

// The query by which the runtime says which images were loaded (images/image_folder.hpp).
inline constexpr std::string_view kImagesQuery = "images";
// Finds an image among those of the lab file and those that were loaded: {name, id, entrypoint,
// cmd, env: ["NAME=VALUE"..], user, group (numbers, where it names some), workingDir}. A name
// without tag there fits any tag. Null: there is none.
const Value& find_image(const Value& images, std::string_view image);
// Returns the command line of a container of such an image.
Value command_of_image(const Value& image, const Value& command, const Value& args);

// Returns "docker.io/library/python:3.12" for "python:3.12", with the tag "latest" where there is
// none, without a digest. Empty for an empty name.
std::string full_image_name(std::string_view image);

}  // namespace athanor::nodes
