// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/image_flags.hpp"

#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {

void add_images(flags::Verb& app, ImagesOptions& options) {
  auto& verb = *app.add_subcommand("images", "List the images of a lab, load or remove one");
  auto* source = verb.add_option("source", options.source,
                                 "an OCI image folder or an archive of skopeo or podman save: its "
                                 "files become the root of containers with this image");
  verb.add_option("--name", options.name, "name of the image in pods (default: the one it has)")
      ->needs(source);
  verb.add_option("--remove", options.remove, "remove the loaded image of this name")
      ->excludes(source);
  verb.add_option("--data", options.data,
                  "folder of the lab's state (default: $XDG_STATE_HOME/athanor)")
      ->envname("ATHANOR_DATA");
  add_output(verb, options.output, {Output::Table, Output::Json, Output::Yaml});
  verb.footer(
      "  podman save -o nginx.tar nginx\n  athanor images nginx.tar\n"
      "  athanor images --remove nginx");
}

}  // namespace athanor::cli
