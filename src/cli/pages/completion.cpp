// SPDX-License-Identifier: Apache-2.0
// Completion scripts, made from the table of verbs.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "systems/numa/tools/tool.hpp"

namespace athanor::cli {
namespace {

// What a verb's arguments may be.
struct Arguments {
  std::string words{};      // subcommands and actions
  std::string_view list{};  // the verb that prints the names; empty: none
};

Arguments arguments_of(const VerbSummary& verb) {
  static constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"clusters", "clusters"}, {"lock", "clusters"},
      {"unlock", "clusters"},   {"jobs", "jobs"},
      {"logs", "jobs"},         {"cancel", "jobs"},
      {"numa", "numa"},         {"appwrappers", "appwrappers"}};
  Arguments arguments;
  const auto add = [&](std::string_view word) {
    arguments.words += arguments.words.empty() ? "" : " ";
    arguments.words += word;
  };
  for (const VerbSummary& below : verb.verbs) {
    add(below.name);
  }
  if (verb.name == "numa") {
    for (const char* action : {"explain", "fit", "exporter", "podresources"}) {
      add(action);
    }
    for (const numa::Tool& tool : numa::numa_tools()) {
      add(tool.name);
    }
  }
  const auto* const list =
      std::ranges::find(kLists, verb.name, &std::pair<std::string_view, std::string_view>::first);
  arguments.list = list == std::end(kLists) ? std::string_view() : list->second;
  return arguments;
}

std::string names_by(std::string_view list) {
  return fmt::format("athanor {} -o name 2>/dev/null | sed 's|.*/||'", list);
}

std::string bash_completion(const std::vector<VerbSummary>& verbs) {
  std::string names;
  std::string cases;
  std::string arguments;
  for (const VerbSummary& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    std::string flags;
    for (const FlagSummary& flag : verb.flags) {
      flags += (flags.empty() ? "" : " ") + flag.name;
    }
    cases += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, flags);
    const auto [words, list] = arguments_of(verb);
    if (!words.empty() || !list.empty()) {
      arguments +=
          fmt::format("    {}:*) COMPREPLY=($(compgen -W \"{}{}\" -- \"$current\")) ;;\n",
                      verb.name, words, list.empty() ? "" : fmt::format(" $({})", names_by(list)));
    }
  }
  return fmt::format(
      "# bash completion of athanor\n"
      "_athanor() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "  case \"${{COMP_WORDS[1]}}:$current\" in\n"
      "    *:-*) COMPREPLY=($(compgen -W \"$words\" -- \"$current\")) ;;\n"
      "{}"
      "    *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -F _athanor athanor\n",
      names, cases, arguments);
}

std::string zsh_completion(const std::vector<VerbSummary>& verbs) {
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash_completion(verbs);
}

std::string fish_completion(const std::vector<VerbSummary>& verbs) {
  std::string out = "# fish completion of athanor\ncomplete -c athanor -f\n";
  for (const VerbSummary& verb : verbs) {
    out += fmt::format("complete -c athanor -n __fish_use_subcommand -a {} -d '{}'\n", verb.name,
                       verb.help);
    for (const FlagSummary& flag : verb.flags) {
      out += fmt::format("complete -c athanor -n '__fish_seen_subcommand_from {}' -l {}\n",
                         verb.name, flag.name.substr(2));
    }
    const auto [words, list] = arguments_of(verb);
    for (const std::string& values :
         {words, list.empty() ? std::string() : fmt::format("({})", names_by(list))}) {
      if (!values.empty()) {
        out += fmt::format("complete -c athanor -n '__fish_seen_subcommand_from {}' -a \"{}\"\n",
                           verb.name, values);
      }
    }
  }
  return out;
}

}  // namespace

int run(const CompletionOptions& options) {
  const std::vector<VerbSummary> verbs = verb_summaries();
  Terminal(STDOUT_FILENO)
      .print(options.shell == "bash"  ? bash_completion(verbs)
             : options.shell == "zsh" ? zsh_completion(verbs)
                                      : fish_completion(verbs));
  return 0;
}

}  // namespace athanor::cli
