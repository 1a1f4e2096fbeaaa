// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/xml.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace athanor::numa {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<XmlElement> document() {
    ATHANOR_TRY_VOID(skip_misc());
    XmlElement root;
    ATHANOR_TRY_VOID(element(root, 0));
    ATHANOR_TRY_VOID(skip_misc());
    if (at_ != text_.size()) {
      return wrong("text behind the root element");
    }
    return root;
  }

 private:
  [[nodiscard]] Error wrong(std::string_view what) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, std::min(at_, text_.size())), '\n');
    return Error::bad_request(fmt::format("line {}: {}", line, what));
  }
  [[nodiscard]] bool sees(std::string_view word) const {
    return text_.substr(std::min(at_, text_.size())).starts_with(word);
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
      ++at_;
    }
  }
  Result<void> skip_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) {
      return wrong(fmt::format("\"{}\" is missing", end));
    }
    at_ = found + end.size();
    return {};
  }
  // True: a comment or an instruction was skipped.
  Result<bool> skip_aside() {
    if (sees("<!--")) {
      ATHANOR_TRY_VOID(skip_past("-->"));
    } else if (sees("<?")) {
      ATHANOR_TRY_VOID(skip_past("?>"));
    } else {
      return false;
    }
    return true;
  }
  Result<void> skip_misc() {
    for (;;) {
      skip_blanks();
      if (sees("<!DOCTYPE")) {
        ATHANOR_TRY_VOID(skip_past(">"));
        continue;
      }
      ATHANOR_TRY(const bool skipped, skip_aside());
      if (!skipped) {
        return {};
      }
    }
  }
  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  // Appends text with its entities replaced.
  Result<void> add_text(std::string_view raw, std::string& out) {
    constexpr std::pair<std::string_view, char> kEntities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    while (!raw.empty()) {
      if (raw.front() != '&') {
        out += raw.front();
        raw.remove_prefix(1);
        continue;
      }
      const auto* const entity = std::ranges::find_if(
          kEntities, [&](const auto& known) { return raw.starts_with(known.first); });
      if (entity == std::end(kEntities)) {
        return wrong("unknown entity");
      }
      out += entity->second;
      raw.remove_prefix(entity->first.size());
    }
    return {};
  }
  Result<void> attribute(XmlElement& into) {
    const std::string key(name());
    skip_blanks();
    if (key.empty() || !sees("=")) {
      return wrong("malformed attribute");
    }
    ++at_;
    skip_blanks();
    if (!sees("\"") && !sees("'")) {
      return wrong("an attribute's value must be quoted");
    }
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      return wrong("an attribute's value does not end");
    }
    std::string value;
    ATHANOR_TRY_VOID(add_text(text_.substr(at_, end - at_), value));
    at_ = end + 1;
    into.attributes.emplace_back(key, std::move(value));
    return {};
  }
  Result<void> element(XmlElement& into, std::size_t depth) {
    if (!sees("<") || depth >= kMostXmlDepth) {
      return wrong(depth >= kMostXmlDepth ? "elements are nested too deep" : "no element");
    }
    ++at_;
    into.name = name();
    if (into.name.empty()) {
      return wrong("an element has no name");
    }
    for (;;) {
      skip_blanks();
      if (sees("/>")) {
        at_ += 2;
        return {};
      }
      if (sees(">")) {
        ++at_;
        return content(into, depth);
      }
      ATHANOR_TRY_VOID(attribute(into));
    }
  }
  Result<void> content(XmlElement& into, std::size_t depth) {
    for (;;) {
      const std::size_t next = text_.find('<', at_);
      if (next == std::string_view::npos) {
        return wrong(fmt::format("element {} does not end", into.name));
      }
      ATHANOR_TRY_VOID(add_text(text_.substr(at_, next - at_), into.text));
      at_ = next;
      ATHANOR_TRY(const bool skipped, skip_aside());
      if (skipped) {
        continue;
      }
      if (!sees("</")) {
        into.children.emplace_back();
        ATHANOR_TRY_VOID(element(into.children.back(), depth + 1));
        continue;
      }
      at_ += 2;
      const std::string_view closed = name();
      skip_blanks();
      if (closed != into.name || !sees(">")) {
        return wrong(fmt::format("element {} does not end where it should", into.name));
      }
      ++at_;
      return {};
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view XmlElement::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find_if(
      attributes, [&](const auto& attribute) { return attribute.first == wanted; });
  return found == attributes.end() ? std::string_view() : std::string_view(found->second);
}

Result<XmlElement> parse_xml(std::string_view text) {
  return Parser(text).document();
}

}  // namespace athanor::numa
