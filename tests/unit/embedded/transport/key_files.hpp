// SPDX-License-Identifier: Apache-2.0
// Fresh keys in every form that key files have.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstddef>
#include <string>

#include "net/crypto.hpp"

namespace athanor::transport {

struct KeyFiles {
  std::string pkcs8{};
  std::string traditional{};  // PKCS#1 of an RSA key, SEC1 of an EC key
  std::string public_key{};
};

inline std::string written(bio_st* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

inline KeyFiles key_files(const net::KeyPtr& key) {
  const net::BioPtr pkcs8(BIO_new(BIO_s_mem()));
  const net::BioPtr traditional(BIO_new(BIO_s_mem()));
  const net::BioPtr public_key(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PrivateKey(pkcs8.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
            1);
  EXPECT_EQ(PEM_write_bio_PrivateKey_traditional(traditional.get(), key.get(), nullptr, nullptr, 0,
                                                 nullptr, nullptr),
            1);
  EXPECT_EQ(PEM_write_bio_PUBKEY(public_key.get(), key.get()), 1);
  return {.pkcs8 = written(pkcs8.get()),
          .traditional = written(traditional.get()),
          .public_key = written(public_key.get())};
}

inline const KeyFiles& rsa_files() {
  constexpr unsigned int kBits = 2048;
  static const KeyFiles kFiles = key_files(net::KeyPtr(EVP_RSA_gen(kBits)));
  return kFiles;
}

inline const KeyFiles& ec_files() {
  static const KeyFiles kFiles = key_files(net::KeyPtr(EVP_EC_gen("P-256")));
  return kFiles;
}

}  // namespace athanor::transport
