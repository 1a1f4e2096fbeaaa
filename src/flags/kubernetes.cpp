// SPDX-License-Identifier: Apache-2.0
// The command line of a verb that stands in for a program of Kubernetes: forms, refusals and help
// are those of pflag, word for word (members of Verb, declared in verb.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "flags/verb.hpp"

namespace athanor::flags {

// Reads words front to back; one for each command line.
struct Verb::KubernetesReader {
  Verb& verb;
  std::span<const std::string> rest;
  std::vector<std::string> others{};
  bool help = false;

  Result<void> read() {
    while (!rest.empty()) {
      const std::string word = rest.front();
      rest = rest.subspan(1);
      if (word == "--") {
        others.insert(others.end(), rest.begin(), rest.end());
        return {};
      }
      if (word.size() < 2 || word.front() != '-') {
        others.push_back(word);
      } else if (word[1] == '-') {
        ATHANOR_TRY_VOID(read_long(word));
      } else {
        ATHANOR_TRY_VOID(read_short(word));
      }
    }
    return {};
  }

  Result<void> read_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '_', '-');
    std::optional<std::string> value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    }
    if (name.empty() || name.front() == '-') {
      return Error::bad_request(fmt::format("bad flag syntax: {}", word));
    }
    if (Flag* flag = verb.find_long(name)) {
      return take(*flag, "--" + name, std::move(value));
    }
    if (name == "help") {
      help = true;
      return {};
    }
    return Error::bad_request(fmt::format("unknown flag: --{}", name));
  }

  // "-v2", "-v=2", "-v 2".
  Result<void> read_short(const std::string& word) {
    const char letter = word[1];
    Flag* flag = verb.find_short(letter);
    if (flag == nullptr && letter == 'h') {
      help = true;
      return {};
    }
    if (flag == nullptr) {
      return Error::bad_request(fmt::format("unknown shorthand flag: '{}' in {}", letter, word));
    }
    std::optional<std::string> value;
    if (word.size() > 2) {
      value = word.substr(word[2] == '=' ? 3 : 2);
    }
    return take(*flag, fmt::format("-{}, --{}", letter, flag->longs_.front()), std::move(value));
  }

  Result<void> take(Flag& flag, const std::string& shown, std::optional<std::string> value) {
    if (!value && flag.takes_ == Takes::Maybe) {
      value = flag.alone_;
    }
    if (!value) {
      if (rest.empty()) {
        return Error::bad_request(fmt::format("flag needs an argument: {}", shown));
      }
      value = rest.front();
      rest = rest.subspan(1);
    }
    for (const Check& check : flag.checks_) {
      if (const std::string why = check.wrong(*value); !why.empty()) {
        return Error::bad_request(
            fmt::format("invalid argument \"{}\" for \"{}\" flag: {}", *value, shown, why));
      }
    }
    flag.keep(*std::move(value));
    return {};
  }
};

Result<Ending> Verb::parse_as_kubernetes(std::span<const std::string> words) {
  KubernetesReader reader{.verb = *this, .rest = words};
  ATHANOR_TRY_VOID(reader.read());
  if (reader.help) {
    return Ending{.kind = Ending::Kind::Help, .text = help()};
  }
  if (!reader.others.empty()) {
    return Error::bad_request(fmt::format("\"{}\" does not take any arguments, got [\"{}\"]", name_,
                                          fmt::join(reader.others, "\" \"")));
  }
  parsed_ = true;
  ATHANOR_TRY_VOID(check_flags());
  for (const auto& done : done_) {
    done();
  }
  return Ending{};
}

std::string Verb::kubernetes_help() const {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const auto& flag : flags_) {
    const std::string letter =
        flag->shorts_.empty() ? "    " : fmt::format("-{}, ", flag->shorts_.front());
    const bool is_switch = flag->takes_ == Takes::Maybe;
    names.push_back(fmt::format("  {}--{}{}{}", letter, flag->longs_.front(), is_switch ? "" : " ",
                                is_switch ? "" : flag->type_));
    width = std::max(width, names.back().size());
  }
  std::string text = opening_ + "\n\nFlags:\n";
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    const Flag& flag = *flags_[i];
    text += fmt::format("{:<{}}   {}", names[i], width, flag.help_);
    if (!flag.default_.empty()) {
      const char* const quote = flag.type_.starts_with("string") ? "\"" : "";
      text += fmt::format(" (default {}{}{})", quote, flag.default_, quote);
    }
    text += "\n";
  }
  return text + "  -h, --help   this text\n";
}

}  // namespace athanor::flags
