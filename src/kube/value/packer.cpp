// SPDX-License-Identifier: Apache-2.0
// A name is its number, or is written out behind a zero. The whole is compressed; which codec did
// it and its former size come first.
#include "kube/value/packer.hpp"

#include <array>

#include "base/check.hpp"

namespace athanor {

using value_bytes::get_number;
using value_bytes::get_text;
using value_bytes::Mark;
using value_bytes::put_mark;
using value_bytes::put_number;
using value_bytes::put_text;

namespace {

constexpr std::size_t kMostNames = 4096;
constexpr std::size_t kLongestName = 64;
// A new codec is made from samples once so many values have been packed: soon, and again when more
// than the first few have been seen.
constexpr std::array kLessons{std::size_t{16}, std::size_t{2048}};
constexpr std::size_t kSamples = std::size_t{8} << 10U;
constexpr std::size_t kSampleEvery = 64;  // after the first lesson

}  // namespace

void Packer::put_string(std::string& out, std::string_view text) {
  put_mark(out, Mark::Text);
  put_text(out, text);
}

void Packer::put_name(std::string& out, const Value& name) {
  const std::string_view text = name.as_string();
  auto known = numbers_.find(text);
  if (known == numbers_.end() && names_.size() < kMostNames && text.size() <= kLongestName) {
    texts_.push_back(std::make_unique<const std::string>(text));
    names_.push_back(name);
    known = numbers_.emplace(*texts_.back(), names_.size() - 1).first;
  }
  if (known != numbers_.end()) {
    return put_number(out, known->second + 1);
  }
  put_number(out, 0);
  put_text(out, text);
}

// From what `plain_` is now, too.
void Packer::learn() {
  ++made_;
  if (codecs_.size() > kLessons.size()) {
    return;
  }
  if (codecs_.empty()) {
    codecs_.push_back(std::make_unique<LzCodec>(std::string_view()));
  }
  const bool first = codecs_.size() == 1;
  if ((first || made_ % kSampleEvery == 0) && samples_.size() < kSamples) {
    samples_.append(plain_, 0, kSamples - samples_.size());
  }
  if (made_ >= kLessons[codecs_.size() - 1]) {
    codecs_.push_back(std::make_unique<LzCodec>(samples_));
    samples_ = {};
  }
}

std::string_view Packer::pack(const Value& value) {
  plain_.clear();
  value_bytes::put(plain_, value, *this);
  learn();
  packed_.clear();
  put_number(packed_, codecs_.size() - 1);
  put_number(packed_, plain_.size());
  packed_ += codecs_.back()->compress(plain_);
  return packed_;
}

Value Packer::get_name(std::string_view& in) {
  const std::uint64_t number = get_number(in);
  if (number == 0) {
    return get_text(in);
  }
  ATHANOR_CHECK(number <= names_.size(), "packed bytes are of this packer");
  return names_[number - 1];
}

Value Packer::get_string(Mark mark, std::string_view& in) {
  ATHANOR_CHECK(mark == Mark::Text, "packed bytes are of this packer");
  return get_text(in);
}

Value Packer::unpack(std::string_view bytes) {
  const std::size_t codec = get_number(bytes);
  const std::size_t size = get_number(bytes);
  ATHANOR_CHECK(codec < codecs_.size(), "packed bytes are of this packer");
  std::string_view plain = codecs_[codec]->decompress(bytes, size);
  return reader_.get(plain, *this);
}

}  // namespace athanor
