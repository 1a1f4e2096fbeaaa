// SPDX-License-Identifier: Apache-2.0
// Completion scripts, made from the table of verbs.
#include <fmt/core.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace athanor::cli {
namespace {

std::string bash_completion(const std::vector<VerbSummary>& verbs) {
  std::string names;
  std::string cases;
  for (const VerbSummary& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    std::string flags;
    for (const FlagSummary& flag : verb.flags) {
      flags += (flags.empty() ? "" : " ") + flag.name;
    }
    cases += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, flags);
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
      "    clusters:*) COMPREPLY=($(compgen -W \"add check remove $(athanor clusters -o name "
      "2>/dev/null | sed 's|.*/||')\" -- \"$current\")) ;;\n"
      "    lock:*|unlock:*) COMPREPLY=($(compgen -W \"$(athanor clusters -o name 2>/dev/null | "
      "sed 's|.*/||')\" -- \"$current\")) ;;\n"
      "    jobs:*|logs:*|cancel:*) COMPREPLY=($(compgen -W \"$(athanor jobs -o name 2>/dev/null | "
      "sed 's|.*/||')\" -- \"$current\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -F _athanor athanor\n",
      names, cases);
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
  }
  out +=
      "complete -c athanor -n '__fish_seen_subcommand_from jobs logs cancel' -a \"(athanor jobs -o "
      "name 2>/dev/null | sed 's|.*/||')\"\n"
      "complete -c athanor -n '__fish_seen_subcommand_from clusters' -a \"add check remove\"\n"
      "complete -c athanor -n '__fish_seen_subcommand_from clusters lock unlock' -a \"(athanor "
      "clusters -o name 2>/dev/null | sed 's|.*/||')\"\n";
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
