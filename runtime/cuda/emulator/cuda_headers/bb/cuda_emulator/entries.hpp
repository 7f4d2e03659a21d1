// How a program tells the runtime of its kernels. The driver appends a table after the text of the .cu file.
#pragma once
#include <utility>

#include "language.hpp"

template <class A>
struct BbEmuParameter {
  using type = A;
  static constexpr uint32_t flags = 0;
};
template <class A>
struct BbEmuParameter<const A> : BbEmuParameter<A> {};
template <class A>
struct BbEmuParameter<A*> {
  using type = A*;
  static constexpr uint32_t flags = BB_EMU_POINTER;
};
template <class A>
struct BbEmuParameter<const A*> {
  using type = const A*;
  static constexpr uint32_t flags = BB_EMU_POINTER | BB_EMU_POINTER_TO_CONST;
};

template <auto KERNEL>
struct BbEmuEntry {
  static_assert(sizeof(KERNEL) == 0, "a __global__ function returns void");
  static constexpr BbEmuKernel named(const char* name) { return {name, nullptr, nullptr, 0}; }
};
template <class... A, void (*KERNEL)(A...)>
struct BbEmuEntry<KERNEL> {
  // One more, so that a kernel without parameters has an array as well.
  static constexpr BbEmuArgument parameters[sizeof...(A) + 1] = {
      {static_cast<uint32_t>(sizeof(A)), BbEmuParameter<A>::flags}..., {0, 0}};
  template <size_t... I>
  BB_EMU_UNCHECKED static void call_with(void** arguments, std::index_sequence<I...>) {
    (void)arguments;
    KERNEL(*static_cast<typename BbEmuParameter<A>::type*>(arguments[I])...);
  }
  BB_EMU_UNCHECKED static void call(void** arguments) { call_with(arguments, std::index_sequence_for<A...>()); }
  static constexpr BbEmuKernel named(const char* name) { return {name, &call, parameters, sizeof...(A)}; }
};
