// SPDX-License-Identifier: Apache-2.0
// The verb that lists and loads images, with its flags, given to CLI11.
#pragma once

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Adds `athanor images`.
void add_images(flags::Verb& app, ImagesOptions& options);

}  // namespace athanor::cli
