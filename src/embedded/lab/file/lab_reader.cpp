// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/file/lab_reader.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/time.hpp"
#include "kube/names/names.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::lab {

void Reader::problem(const std::string& path, std::string_view what) {
  problems_.push_back(fmt::format("{}: {}", place(path), what));
}

std::string Reader::place(const std::string& path) const {
  return fmt::format("{}:{}: {}", name_, line_of(path), path.empty() ? "." : path);
}

std::string Reader::text_of_problems() const {
  std::string all;
  for (const std::string& problem : problems_) {
    all += (all.empty() ? "" : "\n") + problem;
  }
  return all;
}

bool Reader::object(const Value& value, const std::string& path,
                    std::span<const std::string_view> keys) {
  if (!value.is_object()) {
    problem(path, "must be a map");
    return false;
  }
  for (const Member& member : value.members()) {
    if (std::ranges::find(keys, member.key()) == keys.end()) {
      std::string known;
      for (const std::string_view key : keys) {
        known += (known.empty() ? "" : ", ") + std::string(key);
      }
      problem(join(path, member.key()), fmt::format("unknown key; known here: {}", known));
    }
  }
  return true;
}

std::string Reader::text(const Value& value, const std::string& path, std::string fallback) {
  if (value.is_null()) {
    return fallback;
  }
  if (!value.is_string()) {
    problem(path, "must be a string");
    return fallback;
  }
  return value.str();
}

std::string Reader::dns_name(const Value& value, const std::string& path) {
  std::string name = text(value, path);
  if (name.empty()) {
    problem(path, "is required");
  } else if (const auto wrong = validate_dns1123_label(name)) {
    problem(path, fmt::format("\"{}\": {}", name, *wrong));
  }
  return name;
}

std::int64_t Reader::integer(const Value& value, const std::string& path, std::int64_t fallback,
                             std::int64_t least, std::int64_t most) {
  if (value.is_null()) {
    return fallback;
  }
  if (!value.is_integer() || value.as_int() < least || value.as_int() > most) {
    problem(path, fmt::format("must be an integer from {} to {}", least, most));
    return fallback;
  }
  return value.as_int();
}

bool Reader::flag(const Value& value, const std::string& path, bool fallback) {
  if (value.is_null()) {
    return fallback;
  }
  if (!value.is_bool()) {
    problem(path, "must be true or false");
    return fallback;
  }
  return value.as_bool();
}

std::chrono::milliseconds Reader::duration(const Value& value, const std::string& path) {
  const std::string written = text(value, path);
  const auto parsed = parse_go_duration(written);
  if (!parsed.ok() || *parsed < std::chrono::milliseconds(1) || *parsed > std::chrono::hours(24)) {
    problem(path, fmt::format("\"{}\" is not a duration such as 500ms, 2s or 1m", written));
    return std::chrono::milliseconds(1);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(*parsed);
}

std::map<std::string, std::string> Reader::scalars(const Value& value, const std::string& path) {
  std::map<std::string, std::string> result;
  if (value.is_null()) {
    return result;
  }
  if (!value.is_object()) {
    problem(path, "must be a map");
    return result;
  }
  for (const Member& member : value.members()) {
    const Value& scalar = member.value;
    if (scalar.is_string()) {
      result.emplace(member.key(), scalar.str());
    } else if (scalar.is_integer()) {
      result.emplace(member.key(), fmt::format("{}", scalar.as_int()));
    } else if (scalar.is_bool()) {
      result.emplace(member.key(), scalar.as_bool() ? "true" : "false");
    } else {
      problem(join(path, member.key()), "must be a string or a number");
    }
  }
  return result;
}

std::map<std::string, std::string> Reader::quantities(const Value& value, const std::string& path) {
  auto result = scalars(value, path);
  for (const auto& [key, quantity] : result) {
    const auto parsed = Quantity::parse(std::string_view(quantity));
    if (!parsed || parsed->is_negative()) {
      problem(join(path, key),
              fmt::format("\"{}\" is not a quantity such as 8, 500m or 64Gi", quantity));
    }
  }
  return result;
}

std::map<std::string, std::string> Reader::labels(const Value& value, const std::string& path) {
  auto result = scalars(value, path);
  for (const auto& [key, label] : result) {
    const auto wrong_key = validate_label_key(key);
    const auto wrong_value = validate_label_value(label);
    if (wrong_key || wrong_value) {
      problem(join(path, key), wrong_key ? *wrong_key : *wrong_value);
    }
  }
  return result;
}

std::string Reader::join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string Reader::join(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

std::size_t Reader::line_of(std::string path) const {
  while (true) {
    if (const auto found = lines_.find(path); found != lines_.end()) {
      return found->second;
    }
    const std::size_t cut = path.find_last_of(".[");
    if (cut == std::string::npos) {
      return 1;
    }
    path.resize(cut);
  }
}

}  // namespace athanor::lab
