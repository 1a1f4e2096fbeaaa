// SPDX-License-Identifier: Apache-2.0
// What an image runs when a container names no command (docs/spec/tekton.md 12). Images are not
// pulled here, so well-known ones are in a table and others in setting run.imageEntrypoints.
#pragma once

#include <optional>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// The command line of a container of this image with these `args` and no command; nullopt when
// nothing is known of the image. `own` maps image names to entrypoints and wins; Null: none.
std::optional<Value> image_command(std::string_view image, const Value& args, const Value& own);

}  // namespace athanor::nodes
