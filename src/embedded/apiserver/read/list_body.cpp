// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/list_body.hpp"

#include <utility>

#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;  // stays in the processor's cache

class ListStream final : public Stream {
 public:
  explicit ListStream(ListText text) : text_(std::move(text)) {}
  State pull(std::string& out) override {
    if (!text_.append(out, kPiece)) {
      return State::Ended;
    }
    if (wake_) {
      wake_();  // there always is more
    }
    return State::Open;
  }
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }

 private:
  ListText text_;
  std::function<void()> wake_{};  // used on the transport's thread alone
};

}  // namespace

ListText::ListText(const ResourceInfo& resource, ListPage page)
    : whole_items_(resource.is_custom), objects_(std::move(page.objects)) {
  head_ = "{\"kind\":" + json::quote(resource.list_kind) +
          ",\"apiVersion\":" + json::quote(resource.api_version()) +
          ",\"metadata\":{\"resourceVersion\":\"" + std::to_string(page.revision) + "\"";
  if (resource.is_custom || !page.continue_token.empty()) {
    head_ += ",\"continue\":" + json::quote(page.continue_token);
  }
  if (page.remaining) {
    head_ += ",\"remainingItemCount\":" + std::to_string(*page.remaining);
  }
  head_ += "},\"items\":[";
}

bool ListText::append(std::string& out, std::size_t bytes) {
  const std::size_t end = out.size() + bytes;
  out += std::exchange(head_, {});
  for (; next_ < objects_.size(); ++next_) {
    if (out.size() >= end) {
      return true;
    }
    if (next_ > 0) {
      out += ',';
    }
    append_item(objects_[next_], out);
  }
  out += "]}\n";
  return false;
}

void ListText::append_item(const Value& object, std::string& out) const {
  if (whole_items_) {
    return json::append(object, out);
  }
  char separator = '{';
  for (const Member& member : object.members()) {
    if (member.key() == "kind" || member.key() == "apiVersion") {
      continue;
    }
    out += separator;
    separator = ',';
    json::append(member.name, out);
    out += ':';
    json::append(member.value, out);
  }
  out += separator == '{' ? "{}" : "}";
}

std::unique_ptr<Stream> stream_list(ListText text) {
  return std::make_unique<ListStream>(std::move(text));
}

}  // namespace athanor::apiserver
