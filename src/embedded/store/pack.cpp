// SPDX-License-Identifier: Apache-2.0
// A record is a namespace, a name and a body, each a value in this notation: one byte says what
// follows, numbers are base-128 (low digits first), a text is a word of the pack or stands there.
#include "embedded/store/pack.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace athanor::store {
namespace {

enum class Mark : unsigned char {
  Null,
  False,
  True,
  Positive,  // Int from 0 on
  Negative,  // Int: -1 - what follows
  Uint,
  Double,
  Text,
  Word,
  List,
  Object,
  FirstWord = 32,  // from here on the byte itself names one of the most frequent words
};
constexpr std::size_t kNearWords = 256 - static_cast<std::size_t>(Mark::FirstWord);
constexpr std::size_t kShortest = 2;  // no shorter text is worth a word

using Words = std::unordered_map<std::string_view, std::uint32_t>;

void put_number(std::string& out, std::uint64_t number) {
  while (number >= 0x80) {
    out += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  out += static_cast<char>(number);
}

void put_mark(std::string& out, Mark mark) {
  out += static_cast<char>(mark);
}

void put_text(std::string& out, std::string_view text, const Words& words) {
  const auto word = words.find(text);
  if (word == words.end()) {
    put_mark(out, Mark::Text);
    put_number(out, text.size());
    out += text;
  } else if (word->second < kNearWords) {
    out += static_cast<char>(static_cast<std::size_t>(Mark::FirstWord) + word->second);
  } else {
    put_mark(out, Mark::Word);
    put_number(out, word->second);
  }
}

void put(std::string& out, const Value& value, const Words& words) {
  switch (value.type()) {
    case Value::Type::Null:
      return put_mark(out, Mark::Null);
    case Value::Type::Bool:
      return put_mark(out, value.as_bool() ? Mark::True : Mark::False);
    case Value::Type::Int: {
      const std::int64_t number = value.as_int();
      put_mark(out, number < 0 ? Mark::Negative : Mark::Positive);
      return put_number(out, static_cast<std::uint64_t>(number < 0 ? -1 - number : number));
    }
    case Value::Type::Uint:
      put_mark(out, Mark::Uint);
      return put_number(out, value.as_uint());
    case Value::Type::Double:
      put_mark(out, Mark::Double);
      return put_number(out, std::bit_cast<std::uint64_t>(value.as_double()));
    case Value::Type::String:
      return put_text(out, value.as_string(), words);
    case Value::Type::List:
      put_mark(out, Mark::List);
      put_number(out, value.size());
      for (const Value& item : value.items()) {
        put(out, item, words);
      }
      return;
    case Value::Type::Object:
      put_mark(out, Mark::Object);
      put_number(out, value.size());
      for (const Member& member : value.members()) {
        put_text(out, member.key(), words);
        put(out, member.value, words);
      }
      return;
  }
}

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

// What the constructor wrote is what is here: no end needs to be watched.
class Reader {
 public:
  Reader(std::string_view bytes, const std::vector<std::uint32_t>& words, std::size_t at)
      : bytes_(bytes), words_(words), at_(at) {}

  std::string_view text() {
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    return text_of(byte);
  }
  Value value();

 private:
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        return number;
      }
    }
  }
  std::string_view stretch() {
    const std::size_t size = number();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::string_view word(std::size_t index) const {
    return Reader(bytes_, words_, words_[index]).stretch();
  }
  std::string_view text_of(unsigned char byte) {
    if (byte >= static_cast<unsigned char>(Mark::FirstWord)) {
      return word(byte - static_cast<std::size_t>(Mark::FirstWord));
    }
    return static_cast<Mark>(byte) == Mark::Word ? word(number()) : stretch();
  }

  std::string_view bytes_;
  const std::vector<std::uint32_t>& words_;
  std::size_t at_;
};

Value Reader::value() {
  const auto byte = static_cast<unsigned char>(bytes_[at_++]);
  switch (static_cast<Mark>(byte)) {
    case Mark::Null:
      return {};
    case Mark::False:
      return false;
    case Mark::True:
      return true;
    case Mark::Positive:
      return static_cast<std::int64_t>(number());
    case Mark::Negative:
      return -1 - static_cast<std::int64_t>(number());
    case Mark::Uint:
      return number();
    case Mark::Double:
      return std::bit_cast<double>(number());
    case Mark::List: {
      std::vector<Value> items(number());
      for (Value& item : items) {
        item = value();
      }
      return Value::list(std::move(items));
    }
    case Mark::Object: {
      std::vector<Member> members(number());
      for (Member& member : members) {
        member.name = text();
        member.value = value();
      }
      return Value::object(std::move(members));
    }
    default:
      return text_of(byte);
  }
}

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
    put_number(bytes_, text.size());
    bytes_ += text;
  }
  records_.reserve(objects.size());
  for (const StoredPtr& object : objects) {
    ATHANOR_CHECK(bytes_.size() <= 0x7fff'ffff, "packs are made of a few thousand objects");
    records_.push_back(
        {.revision = object->revision, .start = static_cast<std::uint32_t>(bytes_.size())});
    put_text(bytes_, object->key.ns, words);
    put_text(bytes_, object->key.name, words);
    put(bytes_, object->body, words);
  }
  if (!objects.empty()) {
    resource_ = objects.front()->resource;
  }
  bytes_.shrink_to_fit();
}

KeyView Pack::key(std::size_t index) const {
  Reader reader(bytes_, words_, records_[index].start);
  const std::string_view ns = reader.text();
  return {ns, reader.text()};
}

StoredPtr Pack::unpack(std::size_t index) const {
  Reader reader(bytes_, words_, records_[index].start);
  auto stored = std::make_shared<Stored>();
  stored->resource = resource_;
  stored->key.ns = reader.text();
  stored->key.name = reader.text();
  stored->revision = records_[index].revision;
  stored->body = reader.value();
  return stored;
}

std::size_t Pack::bytes() const {
  return bytes_.capacity() + words_.capacity() * sizeof(words_[0]) +
         records_.capacity() * sizeof(records_[0]);
}

}  // namespace athanor::store
