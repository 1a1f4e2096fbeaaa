// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/verb_words.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/near_name.hpp"

namespace athanor::cli {
namespace {

// Flags that may stand before the verb and take a value; --x=y and -ny, too.
constexpr std::array<std::string_view, 12> kWithValue{
    "--kubeconfig", "--context",   "--namespace", "-n",
    "--server",     "-s",          "--token",     "--as",
    "--as-group",   "--verbosity", "-v",          "--certificate-authority"};
constexpr std::string_view kSwitch = "--insecure-skip-tls-verify";

// How many words the global flag at the front takes; 0: it is none.
std::size_t words_of_flag(std::span<const std::string> words) {
  const std::string& word = words.front();
  if (word == kSwitch) {
    return 1;
  }
  for (const std::string_view flag : kWithValue) {
    if (word == flag) {
      return std::min<std::size_t>(2, words.size());
    }
    const bool is_long = flag.starts_with("--");
    if (word.starts_with(flag) && (!is_long || word[flag.size()] == '=')) {
      return 1;
    }
  }
  return 0;
}

// What other programs call it.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {{"list", "jobs"},
                                                                        {"ls", "jobs"},
                                                                        {"get", "jobs"},
                                                                        {"ps", "jobs"},
                                                                        {"job", "jobs"},

                                                                        {"show", "jobs NAME"},
                                                                        {"status", "jobs NAME"},
                                                                        {"inspect", "jobs NAME"},
                                                                        {"watch", "jobs -w"},
                                                                        {"follow", "logs -f"},
                                                                        {"tail", "logs -f"},
                                                                        {"attach", "logs -f"},
                                                                        {"log", "logs"},
                                                                        {"stop", "cancel"},
                                                                        {"delete", "cancel"},
                                                                        {"kill", "cancel"},
                                                                        {"rm", "cancel"},
                                                                        {"remove", "cancel"},
                                                                        {"abort", "cancel"},
                                                                        {"create", "submit"},
                                                                        {"apply", "submit -f"},
                                                                        {"run", "submit"},
                                                                        {"start", "up"},
                                                                        {"serve", "up"},
                                                                        {"init", "up"},
                                                                        {"lab", "labs"},
                                                                        {"nodes", "clusters"},
                                                                        {"cluster", "clusters"},
                                                                        {"dashboard", "top"},
                                                                        {"add", "clusters add"},
                                                                        {"reserve", "lock"},
                                                                        {"release", "unlock"},

                                                                        {"why", "queue"},
                                                                        {"crd", "crds"},
                                                                        {"operator", "controllers"},
                                                                        {"manager", "controllers"}};

}  // namespace

std::vector<std::string> plain_words(std::vector<std::string> words) {
  std::size_t flags = 1;
  while (flags < words.size()) {
    const std::size_t taken = words_of_flag(std::span(words).subspan(flags));
    if (taken == 0) {
      break;
    }
    flags += taken;
  }
  if (flags > 1 && flags < words.size() && !words[flags].starts_with("-")) {
    const auto first = words.begin() + 1;
    std::rotate(first, words.begin() + static_cast<std::ptrdiff_t>(flags),
                words.begin() + static_cast<std::ptrdiff_t>(flags) + 1);
  }
  if (words.size() > 1 && words[1] == "help") {
    words.erase(words.begin() + 1);
    words.emplace_back("--help");
  }
  return words;
}

std::string verb_hint(std::string_view word, std::span<const std::string> verbs) {
  const auto* const found =
      std::ranges::find(kElsewhere, word, &std::pair<std::string_view, std::string_view>::first);
  return found != std::end(kElsewhere) ? std::string(found->second) : near_name(word, verbs);
}

}  // namespace athanor::cli
