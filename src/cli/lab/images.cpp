// SPDX-License-Identifier: Apache-2.0
// athanor images.
#include <fmt/core.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "embedded/nodes/images/image_folder.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

std::string words_as_text(const Value& words) {
  std::string text;
  for (const Value& word : words.items()) {
    text += (text.empty() ? "" : " ") + word.str();
  }
  return text;
}

int list_images(const nodes::ImageFolder& folder, Output output) {
  const Terminal out(STDOUT_FILENO);
  const std::vector<Value> images = folder.list();
  if (output == Output::Table) {
    views::Table table({"IMAGE", "COMMAND", "USER", "FOLDER"});
    for (const Value& image : images) {
      const std::string entry = words_as_text(image["entrypoint"]);
      const std::string rest = words_as_text(image["cmd"]);
      table.add({image["name"].str(),
                 fmt::format("{}{}{}", entry, entry.empty() || rest.empty() ? "" : " ", rest),
                 image["user"].is_integer() ? fmt::format("{}", image["user"].as_int()) : "",
                 image["workingDir"].str()});
    }
    out.print(table.text(out.columns()));
    return 0;
  }
  Value list = Value::list();
  for (const Value& image : images) {
    list.push_back(image);
  }
  out.print(output == Output::Json ? json::print(list, json::Style::Pretty) + "\n"
                                   : yaml::print(list));
  return 0;
}

int load_image(const nodes::ImageFolder& folder, const ImagesOptions& options) {
  const auto image = folder.load(options.source, options.name);
  if (!image.ok()) {
    return fail(image.error());
  }
  const nodes::LayerTally& tally = image->tally;
  std::string text = fmt::format("loaded {}: {} files, {} KiB\n", image->value["name"].as_string(),
                                 tally.entries, tally.bytes >> 10U);
  if (tally.devices > 0) {
    text += fmt::format("{} devices were left out\n", tally.devices);
  }
  if (tally.rights > 0) {
    text += fmt::format("{} files lost setuid or setgid\n", tally.rights);
  }
  Terminal(STDOUT_FILENO).print(text);
  return 0;
}

}  // namespace

int run(const ImagesOptions& options) {
  const nodes::ImageFolder folder(options.data.empty() ? default_data() : options.data);
  if (!options.remove.empty()) {
    const auto removed = folder.remove(options.remove);
    if (!removed.ok()) {
      return fail(removed.error());
    }
    Terminal(STDOUT_FILENO).print(fmt::format("removed {}\n", options.remove));
    return 0;
  }
  return options.source.empty() ? list_images(folder, options.output) : load_image(folder, options);
}

}  // namespace athanor::cli
