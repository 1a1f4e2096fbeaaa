// SPDX-License-Identifier: Apache-2.0
// A record is a namespace, a name and a body, each as kube/value_bytes writes it; a text is a word
// of the pack or is written out.
#include "embedded/store/pack.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "kube/value/value_bytes.hpp"

namespace athanor::store {

using value_bytes::get_mark;
using value_bytes::get_number;
using value_bytes::Mark;
using value_bytes::put_mark;
using value_bytes::put_number;

namespace {

constexpr Mark kWord = Mark::FirstFree;
// From here on the byte itself names one of the most frequent words.
constexpr std::size_t kFirstWord = 32;
constexpr std::size_t kNearWords = 256 - kFirstWord;
constexpr std::size_t kShortest = 2;  // no shorter text is worth a word

using Words = std::unordered_map<std::string_view, std::uint32_t>;

void count_texts(const Value& value, Words& counts) {
  if (value.is_string()) {
    ++counts[value.as_string()];
  }
  for (const Value& item : value.items()) {
    count_texts(item, counts);
  }
  for (const Member& member : value.members()) {
    ++counts[member.key()];
    count_texts(member.value, counts);
  }
}

// The texts of one pack: `words` while it is written, `places` in `bytes` when it is read.
class WordTexts : public value_bytes::Texts {
 public:
  explicit WordTexts(const Words& words) : words_(&words) {}
  WordTexts(std::string_view bytes, const std::vector<std::uint32_t>& places)
      : bytes_(bytes), places_(&places) {}

  void put_string(std::string& out, std::string_view text) override {
    const auto word = words_->find(text);
    if (word == words_->end()) {
      put_mark(out, Mark::Text);
      value_bytes::put_text(out, text);
    } else if (word->second < kNearWords) {
      out += static_cast<char>(kFirstWord + word->second);
    } else {
      put_mark(out, kWord);
      put_number(out, word->second);
    }
  }
  void put_name(std::string& out, const Value& name) override { put_string(out, name.as_string()); }

  std::string_view get_text(Mark mark, std::string_view& in) const {
    if (const auto byte = static_cast<std::size_t>(mark); byte >= kFirstWord) {
      return word(byte - kFirstWord);
    }
    return mark == kWord ? word(get_number(in)) : value_bytes::get_text(in);
  }
  std::string_view get_text(std::string_view& in) const {
    const Mark mark = get_mark(in);
    return get_text(mark, in);
  }
  Value get_string(Mark mark, std::string_view& in) override { return get_text(mark, in); }
  Value get_name(std::string_view& in) override { return get_text(in); }

 private:
  [[nodiscard]] std::string_view word(std::size_t index) const {
    std::string_view at = bytes_.substr((*places_)[index]);
    return value_bytes::get_text(at);
  }

  const Words* words_ = nullptr;
  std::string_view bytes_{};
  const std::vector<std::uint32_t>* places_ = nullptr;
};

// The texts worth a place of their own, most frequent first.
std::vector<std::string_view> frequent_texts(std::span<const StoredPtr> objects) {
  Words counts;
  for (const StoredPtr& object : objects) {
    ++counts[object->key.ns];
    ++counts[object->key.name];
    count_texts(object->body, counts);
  }
  std::erase_if(
      counts, [](const auto& entry) { return entry.second < 2 || entry.first.size() < kShortest; });
  std::vector<std::string_view> texts;
  texts.reserve(counts.size());
  for (const auto& [text, count] : counts) {
    texts.push_back(text);
  }
  std::ranges::sort(texts, [&](std::string_view a, std::string_view b) {
    const auto rank = [&](std::string_view text) { return counts.find(text)->second; };
    return std::tuple(rank(b), a) < std::tuple(rank(a), b);
  });
  return texts;
}

}  // namespace

Pack::Pack(std::span<const StoredPtr> objects) {
  const std::vector<std::string_view> texts = frequent_texts(objects);
  Words words;
  words_.reserve(texts.size());
  for (const std::string_view text : texts) {
    words.emplace(text, static_cast<std::uint32_t>(words_.size()));
    words_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    value_bytes::put_text(bytes_, text);
  }
  WordTexts in_words(words);
  records_.reserve(objects.size());
  for (const StoredPtr& object : objects) {
    ATHANOR_CHECK(bytes_.size() <= 0x7fff'ffff, "packs are made of a few thousand objects");
    records_.push_back(
        {.revision = object->revision, .start = static_cast<std::uint32_t>(bytes_.size())});
    in_words.put_string(bytes_, object->key.ns);
    in_words.put_string(bytes_, object->key.name);
    value_bytes::put(bytes_, object->body, in_words);
  }
  if (!objects.empty()) {
    resource_ = objects.front()->resource;
  }
  bytes_.shrink_to_fit();
}

KeyView Pack::key(std::size_t index) const {
  const WordTexts texts(bytes_, words_);
  std::string_view in = std::string_view(bytes_).substr(records_[index].start);
  const std::string_view ns = texts.get_text(in);
  return {ns, texts.get_text(in)};
}

StoredPtr Pack::unpack(std::size_t index) const {
  WordTexts texts(bytes_, words_);
  std::string_view in = std::string_view(bytes_).substr(records_[index].start);
  auto stored = std::make_shared<Stored>();
  stored->resource = resource_;
  stored->key.ns = texts.get_text(in);
  stored->key.name = texts.get_text(in);
  stored->revision = records_[index].revision;
  stored->body = value_bytes::Reader().get(in, texts);
  return stored;
}

std::size_t Pack::bytes() const {
  return bytes_.capacity() + words_.capacity() * sizeof(words_[0]) +
         records_.capacity() * sizeof(records_[0]);
}

}  // namespace athanor::store
