// SPDX-License-Identifier: Apache-2.0
// Mutexes that clang's thread-safety analysis understands (-Wthread-safety). A member that a mutex
// guards is declared with ATHANOR_GUARDED_BY; a function that expects the mutex to be held with
// ATHANOR_REQUIRES. Both mean nothing to other compilers.
#pragma once

#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define ATHANOR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ATHANOR_THREAD_ANNOTATION(x)
#endif

#define ATHANOR_GUARDED_BY(mutex) ATHANOR_THREAD_ANNOTATION(guarded_by(mutex))
// For pointers: what they point to is guarded.
#define ATHANOR_PT_GUARDED_BY(mutex) ATHANOR_THREAD_ANNOTATION(pt_guarded_by(mutex))
#define ATHANOR_REQUIRES(...) ATHANOR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ATHANOR_REQUIRES_SHARED(...) \
  ATHANOR_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define ATHANOR_EXCLUDES(...) ATHANOR_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// For functions whose locking the analysis cannot follow; a comment says why.
#define ATHANOR_NO_THREAD_ANALYSIS ATHANOR_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace athanor {

class ATHANOR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  using Native = std::mutex;
  void lock() ATHANOR_THREAD_ANNOTATION(acquire_capability()) { native_.lock(); }
  void unlock() ATHANOR_THREAD_ANNOTATION(release_capability()) { native_.unlock(); }
  // Declares that the caller holds it, in lambdas that are called with it held. Checks nothing.
  void assert_held() const ATHANOR_THREAD_ANNOTATION(assert_capability(this)) {}
  [[nodiscard]] Native& native() { return native_; }

 private:
  Native native_{};
};

// The analysis does not follow repeated locking by one thread: it sees each function by itself.
class ATHANOR_THREAD_ANNOTATION(capability("mutex")) RecursiveMutex {
 public:
  using Native = std::recursive_mutex;
  void lock() ATHANOR_THREAD_ANNOTATION(acquire_capability()) { native_.lock(); }
  void unlock() ATHANOR_THREAD_ANNOTATION(release_capability()) { native_.unlock(); }
  // Declares that the caller holds it, in lambdas that are called with it held. Checks nothing.
  void assert_held() const ATHANOR_THREAD_ANNOTATION(assert_capability(this)) {}
  [[nodiscard]] Native& native() { return native_; }

 private:
  Native native_{};
};

class ATHANOR_THREAD_ANNOTATION(capability("mutex")) SharedMutex {
 public:
  using Native = std::shared_mutex;
  void lock() ATHANOR_THREAD_ANNOTATION(acquire_capability()) { native_.lock(); }
  void unlock() ATHANOR_THREAD_ANNOTATION(release_capability()) { native_.unlock(); }
  void lock_shared() ATHANOR_THREAD_ANNOTATION(acquire_shared_capability()) {
    native_.lock_shared();
  }
  void unlock_shared() ATHANOR_THREAD_ANNOTATION(release_shared_capability()) {
    native_.unlock_shared();
  }
  [[nodiscard]] Native& native() { return native_; }

 private:
  Native native_{};
};

// Holds a mutex from construction to destruction, unless unlocked in between.
template <class M>
class ATHANOR_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(M& mutex) ATHANOR_THREAD_ANNOTATION(acquire_capability(mutex))
      : lock_(mutex.native()) {}
  ~MutexLock() ATHANOR_THREAD_ANNOTATION(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void lock() ATHANOR_THREAD_ANNOTATION(acquire_capability()) { lock_.lock(); }
  void unlock() ATHANOR_THREAD_ANNOTATION(release_capability()) { lock_.unlock(); }
  // Returns the native lock, for ConditionVariable.
  [[nodiscard]] std::unique_lock<typename M::Native>& native() { return lock_; }

 private:
  std::unique_lock<typename M::Native> lock_;
};

// Holds a SharedMutex for reading.
class ATHANOR_THREAD_ANNOTATION(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) ATHANOR_THREAD_ANNOTATION(acquire_shared_capability(mutex))
      : lock_(mutex.native()) {}
  ~ReadLock() ATHANOR_THREAD_ANNOTATION(release_capability()) = default;
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace athanor
