// SPDX-License-Identifier: Apache-2.0
// The JSON of a list, made piece by piece: a list of 50,000 objects is 74 MB of text, which no
// thread has to hold when it leaves as fast as it is made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "embedded/apiserver/read/read_list.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/kinds/resource_info.hpp"

namespace athanor::apiserver {

// Not thread-safe. Keeps the page's objects until they are printed.
class ListText {
 public:
  ListText(const ResourceInfo& resource, ListPage page);
  // Appends `bytes` or somewhat more; false: that was the end.
  bool append(std::string& out, std::size_t bytes);

 private:
  void append_item(const Value& object, std::string& out) const;

  std::string head_{};  // what comes before the items
  bool whole_items_;    // of built-in lists they carry neither kind nor apiVersion
  std::vector<Value> objects_{};
  std::size_t next_ = 0;
};

// Returns `text` as the body of a response.
std::unique_ptr<Stream> stream_list(ListText text);

}  // namespace athanor::apiserver
