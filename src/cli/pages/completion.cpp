// SPDX-License-Identifier: Apache-2.0
// Completion scripts: each hands the line to `athanor __complete` and offers what it prints.
#include <unistd.h>

#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"

namespace athanor::cli {
namespace {

// bash splits words at = and :, and what it has split off stays on the line.
constexpr const char* kBash = R"(# bash completion of athanor
_athanor() {
  local line="${COMP_LINE:0:COMP_POINT}" current="${COMP_WORDS[COMP_CWORD]}" candidate
  local word="${line##*[[:space:]]}"
  [[ $current == = || $current == : ]] && current=""
  local head="${word%"$current"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
      continue
    fi
    candidate="${candidate%%$'\t'*}"
    COMPREPLY+=("${candidate#"$head"}")
  done < <("${COMP_WORDS[0]}" __complete --line "$line" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:/] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _athanor athanor
)";

constexpr const char* kZsh = R"(#compdef athanor
# zsh completion of athanor
_athanor() {
  local line="${(j: :)words[1,CURRENT]}" candidate
  local -a names shown
  for candidate in "${(@f)$("${words[1]}" __complete --line "$line" 2>/dev/null)}"; do
    if [[ $candidate == :files ]]; then
      _files
    elif [[ -n $candidate ]]; then
      names+=("${candidate%%$'\t'*}")
      shown+=("${candidate//$'\t'/  -- }")
    fi
  done
  (( ${#names} )) && compadd -l -d shown -- "${names[@]}"
}
if [[ $funcstack[1] == _athanor ]]; then
  _athanor "$@"
else
  compdef _athanor athanor
fi
)";

constexpr const char* kFish = R"(# fish completion of athanor
function __athanor_complete
    set -l program (commandline -opc)[1]
    for candidate in ($program __complete --line (commandline -cp) 2>/dev/null)
        if test "$candidate" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $candidate
        end
    end
end
complete -c athanor -f -a '(__athanor_complete)'
)";

}  // namespace

int run(const CompletionOptions& options) {
  Terminal(STDOUT_FILENO)
      .print(options.shell == "bash"  ? kBash
             : options.shell == "zsh" ? kZsh
                                      : kFish);
  return 0;
}

}  // namespace athanor::cli
