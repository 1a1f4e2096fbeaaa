// SPDX-License-Identifier: Apache-2.0
// Reader: walks a document that people write and collects every problem with the line it is on.
// For the .cpp files of lab/.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::lab {

// Not thread-safe.
class Reader {
 public:
  Reader(std::string_view name, const std::vector<std::pair<std::string, std::size_t>>& lines)
      : name_(name), lines_(lines.begin(), lines.end()) {}

  // Notes "NAME:LINE: PATH: what is wrong".
  void problem(const std::string& path, std::string_view what);
  // Returns "NAME:LINE: PATH".
  [[nodiscard]] std::string place(const std::string& path) const;
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  // Returns all of them, one a line.
  [[nodiscard]] std::string text_of_problems() const;

  // Returns false unless `value` is an object with these keys alone. This and the following note a
  // problem and give their fallback (or what there is) when the value is wrong; Null is an absent
  // value.
  bool object(const Value& value, const std::string& path, std::span<const std::string_view> keys);
  bool object(const Value& value, const std::string& path,
              std::initializer_list<std::string_view> keys) {
    return object(value, path, std::span(keys.begin(), keys.size()));
  }
  std::string text(const Value& value, const std::string& path, std::string fallback = {});
  // Reads a required DNS label.
  std::string dns_name(const Value& value, const std::string& path);
  std::int64_t integer(const Value& value, const std::string& path, std::int64_t fallback,
                       std::int64_t least, std::int64_t most);
  bool flag(const Value& value, const std::string& path, bool fallback);
  // Reads a positive Go duration.
  std::chrono::milliseconds duration(const Value& value, const std::string& path);
  // Scalars become text: capacities and settings are written 8 as often as "8".
  std::map<std::string, std::string> scalars(const Value& value, const std::string& path);
  std::map<std::string, std::string> quantities(const Value& value, const std::string& path);
  std::map<std::string, std::string> labels(const Value& value, const std::string& path);

  static std::string join(const std::string& path, std::string_view key);
  static std::string join(const std::string& path, std::size_t index);

 private:
  // Returns the line of the node, or of its nearest parent.
  [[nodiscard]] std::size_t line_of(std::string path) const;

  std::string name_;
  std::map<std::string, std::size_t> lines_{};
  std::vector<std::string> problems_{};
};

// Reads a list; `read_one(reader, entry, path)` reads an entry.
template <class T, class ReadOne>
std::vector<T> read_entries(Reader& reader, const Value& list, const std::string& path,
                            ReadOne read_one) {
  std::vector<T> result;
  if (!list.is_null() && !list.is_list()) {
    reader.problem(path, "must be a list");
    return result;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    result.push_back(read_one(reader, list[i], Reader::join(path, i)));
  }
  return result;
}

// Refuses a name used twice.
template <class T>
void check_names(Reader& reader, const std::vector<T>& entries, const std::string& path) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].name;
    if (!name.empty() && !names.insert(name).second) {
      reader.problem(Reader::join(path, i) + ".name", "\"" + name + "\" is declared twice");
    }
  }
}

}  // namespace athanor::lab
