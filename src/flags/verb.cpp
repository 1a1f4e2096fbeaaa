// SPDX-License-Identifier: Apache-2.0
#include "flags/verb.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/check.hpp"

namespace athanor::flags {
namespace {

bool read_bool(std::string_view text, bool& value) {
  for (const char* yes : {"true", "1", "on", "yes", "t", "True", "TRUE"}) {
    if (text == yes) {
      value = true;
      return true;
    }
  }
  for (const char* no : {"false", "0", "off", "no", "f", "False", "FALSE"}) {
    if (text == no) {
      value = false;
      return true;
    }
  }
  return false;
}

std::string not_bool(const std::string& text) {
  return fmt::format("\"{}\" is not true or false", text);
}

// Reads one number into the target, which may be an optional.
template <typename Number, typename Target>
Flag::Take take_number(Target& target) {
  return [&target](const std::vector<std::string>& values) {
    const std::string& text = values.back();
    const char* const end = text.data() + text.size();
    Number number{};
    const auto [rest, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc() || rest != end) {
      return fmt::format("\"{}\" is not a number", text);
    }
    target = number;
    return std::string();
  };
}

template <typename Target>
std::function<std::string()> text_of(Target& target) {
  return [&target] { return fmt::format("{}", target); };
}

}  // namespace

Verb::Verb(std::string help, std::string name) : name_(std::move(name)), help_(std::move(help)) {}

Flag* Verb::add(std::string_view names, std::string help, Takes takes, std::string type,
                Flag::Take take, std::function<std::string()> present) {
  flags_.push_back(
      std::make_unique<Flag>(names, std::move(help), takes, std::move(type), std::move(take)));
  flags_.back()->present_ = std::move(present);
  return flags_.back().get();
}

Flag* Verb::add_option(std::string_view names, std::string& target, std::string help) {
  return add(
      names, std::move(help), Takes::OneValue, "TEXT",
      [&target](const std::vector<std::string>& values) {
        target = values.back();
        return std::string();
      },
      [&target] { return target; });
}

Flag* Verb::add_option(std::string_view names, std::vector<std::string>& target, std::string help) {
  return add(names, std::move(help), Takes::Values, "TEXT",
             [&target](const std::vector<std::string>& values) {
               target = values;
               return std::string();
             },
             {});
}

Flag* Verb::add_option(std::string_view names, bool& target, std::string help) {
  return add(
      names, std::move(help), Takes::Maybe, "BOOLEAN",
      [&target](const std::vector<std::string>& values) {
        return read_bool(values.back(), target) ? std::string() : not_bool(values.back());
      },
      [&target] { return std::string(target ? "true" : "false"); });
}

Flag* Verb::add_option(std::string_view names, int& target, std::string help) {
  return add(names, std::move(help), Takes::OneValue, "INT", take_number<int>(target),
             text_of(target));
}

Flag* Verb::add_option(std::string_view names, unsigned& target, std::string help) {
  return add(names, std::move(help), Takes::OneValue, "UINT", take_number<unsigned>(target),
             text_of(target));
}

Flag* Verb::add_option(std::string_view names, std::int64_t& target, std::string help) {
  return add(names, std::move(help), Takes::OneValue, "INT", take_number<std::int64_t>(target),
             text_of(target));
}

Flag* Verb::add_option(std::string_view names, std::uint64_t& target, std::string help) {
  return add(names, std::move(help), Takes::OneValue, "UINT", take_number<std::uint64_t>(target),
             text_of(target));
}

Flag* Verb::add_option(std::string_view names, double& target, std::string help) {
  return add(names, std::move(help), Takes::OneValue, "FLOAT", take_number<double>(target),
             text_of(target));
}

Flag* Verb::add_option(std::string_view names, std::optional<std::string>& target,
                       std::string help) {
  return add(names, std::move(help), Takes::OneValue, "TEXT",
             [&target](const std::vector<std::string>& values) {
               target = values.back();
               return std::string();
             },
             {});
}

Flag* Verb::add_option(std::string_view names, std::optional<std::int64_t>& target,
                       std::string help) {
  return add(names, std::move(help), Takes::OneValue, "INT", take_number<std::int64_t>(target), {});
}

Flag* Verb::add_option(std::string_view names, std::optional<double>& target, std::string help) {
  return add(names, std::move(help), Takes::OneValue, "FLOAT", take_number<double>(target), {});
}

Flag* Verb::add_option_function(std::string_view names,
                                std::function<Result<void>(const std::string&)> take,
                                std::string help) {
  return add(names, std::move(help), Takes::OneValue, "TEXT",
             [take = std::move(take)](const std::vector<std::string>& values) {
               const auto taken = take(values.back());
               return taken.ok() ? std::string() : taken.error().message;
             },
             {});
}

Flag* Verb::add_flag(std::string_view names, bool& target, std::string help) {
  return add(names, std::move(help), Takes::Nothing, {},
             [&target](const std::vector<std::string>& values) {
               return read_bool(values.back(), target) ? std::string() : not_bool(values.back());
             },
             {});
}

Flag* Verb::add_flag_function(std::string_view names, std::function<void()> seen,
                              std::string help) {
  return add(names, std::move(help), Takes::Nothing, {},
             [seen = std::move(seen)](const std::vector<std::string>& values) {
               bool on = false;
               if (!read_bool(values.back(), on)) {
                 return not_bool(values.back());
               }
               if (on) {
                 seen();
               }
               return std::string();
             },
             {});
}

Verb* Verb::add_subcommand(std::string name, std::string help) {
  below_.push_back(std::make_unique<Verb>(std::move(help), std::move(name)));
  below_.back()->parent_ = this;
  most_ = std::max(most_, 1);
  return below_.back().get();
}

Verb* Verb::require_subcommand(int least, int most) {
  least_ = least;
  most_ = most;
  return this;
}

Verb* Verb::footer(std::string text) {
  footer_ = std::move(text);
  return this;
}

Verb* Verb::as_kubernetes(std::string opening) {
  manner_ = Manner::Kubernetes;
  opening_ = std::move(opening);
  return this;
}

void Verb::set_version_flag(std::string_view names, std::string text) {
  version_ = std::move(text);
  add(names, "Print the version and exit", Takes::Nothing, {},
      [](const std::vector<std::string>&) { return std::string(); }, {});
}

void Verb::callback(std::function<void()> done) {
  done_.push_back(std::move(done));
}

void Verb::verify(std::function<Result<void>()> check) {
  checks_.push_back(std::move(check));
}

std::vector<const Flag*> Verb::get_options() const {
  std::vector<const Flag*> all;
  all.reserve(flags_.size());
  for (const auto& flag : flags_) {
    all.push_back(flag.get());
  }
  return all;
}

Flag* Verb::get_option(std::string_view name) const {
  const auto found =
      std::ranges::find_if(flags_, [&](const auto& flag) { return flag->named(name); });
  ATHANOR_CHECK(found != flags_.end(), "a verb has no flag of that name");
  return found->get();
}

std::vector<const Verb*> Verb::verbs() const {
  std::vector<const Verb*> all;
  all.reserve(below_.size());
  for (const auto& verb : below_) {
    all.push_back(verb.get());
  }
  return all;
}

Verb* Verb::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(below_, [&](const auto& verb) { return verb->name_ == name; });
  return found == below_.end() ? nullptr : found->get();
}

bool Verb::got_subcommand(std::string_view name) const {
  return chosen_ != nullptr && chosen_->name_ == name;
}

Flag* Verb::find_long(std::string_view name) const {
  const auto found = std::ranges::find_if(flags_, [&](const auto& flag) {
    return std::ranges::find(flag->longs_, name) != flag->longs_.end();
  });
  return found == flags_.end() ? nullptr : found->get();
}

Flag* Verb::find_short(char letter) const {
  const auto found = std::ranges::find_if(flags_, [&](const auto& flag) {
    return std::ranges::find(flag->shorts_, letter) != flag->shorts_.end();
  });
  return found == flags_.end() ? nullptr : found->get();
}

// Reads words front to back; one for each command line.
struct Verb::Reader {
  std::span<const std::string> words;
  std::size_t at = 0;
  Verb* verb;
  std::vector<std::string> unexpected{};
  std::map<Verb*, std::vector<std::string>> arguments{};
  const Verb* help = nullptr;
  bool version = false;
  bool flags_over = false;

  Result<void> read() {
    verb->parsed_ = true;
    while (at < words.size()) {
      const std::string& word = words[at];
      if (!flags_over && word == "--") {
        flags_over = true;
        ++at;
      } else if (!flags_over && word.size() > 1 && word.starts_with('-')) {
        ATHANOR_TRY_VOID(read_flag(word));
      } else if (Verb* below = flags_over ? nullptr : verb->find(word)) {
        verb->chosen_ = below;
        verb = below;
        verb->parsed_ = true;
        ++at;
      } else {
        arguments[verb].push_back(word);
        ++at;
      }
    }
    return {};
  }

  Result<void> read_flag(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t dashes = is_long ? 2 : 1;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(dashes, equals - dashes);
    if (name == "help" || (name == "h" && verb->find_short('h') == nullptr)) {
      help = verb;
      ++at;
      return {};
    }
    if (is_long || name.size() > 1) {
      if (Flag* flag = verb->find_long(name)) {
        if (flag->takes_ == Takes::Nothing && !verb->version_.empty() && name == "version") {
          version = true;
        }
        ++at;
        return value_of(*flag, equals == std::string::npos
                                   ? std::nullopt
                                   : std::optional(word.substr(equals + 1)));
      }
    }
    if (is_long) {
      return unknown(word);
    }
    // "-Af file": switches may stand together, the last one may take a value.
    for (std::size_t i = 1; i < word.size(); ++i) {
      Flag* flag = verb->find_short(word[i]);
      if (flag == nullptr) {
        return unknown(word);
      }
      const bool last = i + 1 == word.size();
      const bool assigned = !last && word[i + 1] == '=';
      if (flag->takes_ == Takes::Nothing && !assigned) {
        flag->keep("true");
        continue;
      }
      ++at;
      return value_of(*flag,
                      last ? std::nullopt : std::optional(word.substr(i + (assigned ? 2 : 1))));
    }
    ++at;
    return {};
  }

  Result<void> unknown(const std::string& word) {
    unexpected.push_back(word);
    ++at;
    return {};
  }

  // A value that stands alone: the next word, where the flag takes one.
  Result<void> value_of(Flag& flag, std::optional<std::string> value) {
    const auto next_is_value = [&] {
      return at < words.size() && (words[at].empty() || words[at][0] != '-' || words[at] == "-") &&
             verb->find(words[at]) == nullptr;
    };
    if (value) {
      flag.keep(*std::move(value));
      return {};
    }
    switch (flag.takes_) {
      case Takes::Nothing:
        flag.keep("true");
        return {};
      case Takes::Maybe: {
        bool ignored = false;
        const bool matches =
            next_is_value() && (flag.type_ != "BOOLEAN" || read_bool(words[at], ignored));
        flag.keep(matches ? words[at++] : flag.type_ == "BOOLEAN" ? "true" : flag.alone_);
        return {};
      }
      case Takes::OneValue:
      case Takes::Values:
        break;
    }
    if (at == words.size()) {
      return Error::bad_request(flag.spoken() + ": a value is missing");
    }
    flag.keep(words[at++]);
    const bool has_arguments =
        std::ranges::any_of(verb->flags_, [](const auto& other) { return other->positional(); });
    while (flag.greedy() && !has_arguments && next_is_value()) {
      flag.keep(words[at++]);
    }
    return {};
  }

  void hand_out_arguments() {
    for (auto& [owner, given] : arguments) {
      std::size_t next = 0;
      for (const auto& flag : owner->flags_) {
        if (!flag->positional()) {
          continue;
        }
        const std::size_t most = flag->takes_ == Takes::Values ? given.size() : next + 1;
        for (; next < std::min(most, given.size()); ++next) {
          flag->keep(given[next]);
        }
      }
      unexpected.insert(unexpected.end(), given.begin() + static_cast<std::ptrdiff_t>(next),
                        given.end());
    }
  }
};

Result<void> Verb::check_flags() const {
  for (const auto& flag : flags_) {
    if (!flag->given()) {
      continue;
    }
    for (const Flag* other : flag->needs_) {
      if (!other->given()) {
        return Error::bad_request(fmt::format("{} requires {}", flag->spoken(), other->spoken()));
      }
    }
    for (const std::string& name : flag->excludes_) {
      if (get_option(name)->given()) {
        return Error::bad_request(fmt::format("{} excludes {}", flag->spoken(), name));
      }
    }
  }
  for (const auto& flag : flags_) {
    if (flag->required_ && !flag->given()) {
      return Error::bad_request(flag->spoken() + " is required");
    }
  }
  for (const auto& flag : flags_) {
    if (const std::string wrong = flag->finish(); !wrong.empty()) {
      return Error::bad_request(fmt::format("{}: {}", flag->spoken(), wrong));
    }
  }
  if (least_ > 0 && chosen_ == nullptr) {
    std::string known;
    for (const auto& verb : below_) {
      known += (known.empty() ? "" : ", ") + verb->name_;
    }
    return Error::bad_request(fmt::format("a verb is missing: {}", known));
  }
  for (const auto& check : checks_) {
    ATHANOR_TRY_VOID(check());
  }
  return {};
}

Result<Ending> Verb::parse(std::span<const std::string> words) {
  if (manner_ == Manner::Kubernetes) {
    return parse_as_kubernetes(words);
  }
  Reader reader{.words = words, .verb = this};
  ATHANOR_TRY_VOID(reader.read());
  if (reader.help != nullptr) {
    return Ending{.kind = Ending::Kind::Help, .text = reader.help->help()};
  }
  if (reader.version) {
    return Ending{.kind = Ending::Kind::Version, .text = version_ + "\n"};
  }
  reader.hand_out_arguments();
  if (!reader.unexpected.empty()) {
    std::string listed;
    for (const std::string& word : reader.unexpected) {
      listed += (listed.empty() ? "" : " ") + word;
    }
    return Error::bad_request(fmt::format("The following argument{} not expected: {}",
                                          reader.unexpected.size() == 1 ? " was" : "s were",
                                          listed));
  }
  for (Verb* verb = this; verb != nullptr; verb = verb->chosen_) {
    ATHANOR_TRY_VOID(verb->check_flags());
    for (const auto& done : verb->done_) {
      done();
    }
  }
  return Ending{};
}

}  // namespace athanor::flags
