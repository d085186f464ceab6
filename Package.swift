// swift-tools-version: 6.2
import PackageDescription

let root = Context.packageDirectory

/// `make` builds tests and simulator in one optimised debug build, where a changed file is compiled
/// alone, `@testable import` works and a broken `ensure` ends the process. Test code itself is
/// not optimised: its `#expect` macros take minutes of optimiser time.
let tested: [SwiftSetting] =
  Context.environment["TL_TESTED"] == nil
  ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// The library looks up no field by its name. Debug builds keep the names: the simulator and
/// debuggers read them.
let unnamed: [SwiftSetting] = [
  .unsafeFlags(["-Xfrontend", "-disable-reflection-metadata"], .when(configuration: .release))
]

/// Compiler settings of every module of the library.
let strict: [SwiftSetting] =
  [
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + unnamed + tested

/// The sanitizers' runtime comes with the host program, so its symbols stay open.
let complete = Context.environment["TL_SANITIZE"] == nil

/// `make dist`: SQLite and libsodium are linked in, and an older glibc will do. It is the path to
/// which the linker writes what it has linked.
let contained = Context.environment["TL_CONTAINED"]

/// What only the benchmarks link.
let benchmarks: [Product] =
  Context.environment["TL_BENCHMARKS"] == nil
  ? [] : [.library(name: "vault-alone", type: .dynamic, targets: ["VaultAlone"])]

/// Only the shared library is linked with these; tests and examples are not.
let libraryLink: [LinkerSetting] = [
  .unsafeFlags([
    "-static-stdlib",
    "-use-ld=lld",
    "-Xlinker", "-soname=libtideline.so.1",
    "-Xlinker", "--version-script=\(root)/tideline.map",
    "-Xlinker", "--no-undefined-version",
    "-Xlinker", "-z", "-Xlinker", complete ? "defs" : "undefs",
    "-Xlinker", "-z", "-Xlinker", "nodelete",
    "-Xlinker", "--gc-sections", "-Xlinker", "--icf=all",
    "-Xclang-linker", "-static-libgcc",
    // 244 kB of index for C++ exceptions. None may pass through the library, where it would leave
    // locks held; without the index it ends the process.
    "-Xlinker", "--no-eh-frame-hdr",
  ]),
  // The static libstdc++: see the file there. Sanitizers bring the shared one.
  .unsafeFlags(complete ? ["-L\(root)/Scripts/link"] : []),
  // Packed relocations are 0.4 MB smaller and need glibc 2.36.
  .unsafeFlags(
    contained.map { map in ["-Xlinker", "-Map=\(map)"] }
      ?? ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"]),
]

func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies)
}

/// `TL_TESTS=StoreTests,SIM` builds these tests, the simulator, and what they need; `LIB` is the
/// shared library.
let wanted = Context.environment["TL_TESTS"].map { names in
  names.split(separator: ",").map { ["SIM": "tideline-sim", "LIB": "Library"][$0] ?? String($0) }
}

func needed(_ targets: [Target]) -> [Target] {
  guard let wanted else { return targets }
  var names = Set(wanted)
  var count = 0
  while count < names.count {
    count = names.count
    for target in targets where names.contains(target.name) {
      for case .byNameItem(let name, _) in target.dependencies { names.insert(name) }
    }
  }
  return targets.filter { names.contains($0.name) }
}

let library: [Product] =
  wanted.map { $0.contains("Library") } == false
  ? [] : [.library(name: "tideline", type: .dynamic, targets: ["Library"])]

let package = Package(
  name: "tideline",
  products: library + benchmarks,
  targets: needed([
    // What only C can say.
    .target(name: "CTideline", path: "Include", publicHeadersPath: "."),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "Support", dependencies: ["CSQLite"]),

    // The modules. An arrow points down; ARCHITECTURE.md has the picture.
    .target(name: "BaseC"),
    module("Base", ["BaseC", "CSodium"]),
    module("Timeline", ["Base"]),
    module("Viewport", ["Base"]),
    module("Wire", ["Base"]),
    module("Text", ["Base"]),
    module("Vault", ["Base", "CSQLite", "CSodium", "Support"]),
    module("Store", ["Base", "Timeline", "Text", "Vault", "CSQLite", "Support"]),
    module("Engine", ["Base", "Timeline", "Wire", "Store"]),
    module("ABI", ["Base", "Engine", "Viewport", "CTideline"]),

    // The shared library: everything above, linked statically.
    .target(name: "Library", dependencies: ["ABI"], linkerSettings: libraryLink),

    // The reference server's logic; its program is a package of its own.
    .target(
      name: "ReferenceServer", dependencies: ["CSQLite"],
      path: "examples/server/Sources/ReferenceServer", swiftSettings: tested),

    // One order for times, numbers and logs, beside the library's.
    .target(
      name: "Book", dependencies: ["Base"], path: "Simulator/Book", swiftSettings: tested),
    .target(
      name: "BookSupport", dependencies: ["Base", "Book", "Timeline", "LogSupport"],
      path: "Tests/BookSupport", swiftSettings: tested),

    // The simulator.
    .target(
      name: "Simulator",
      dependencies: [
        "Base", "Timeline", "Store", "Engine", "Book", "BookSupport", "LogSupport",
        "ReferenceServer", "TestSupport", "CSQLite", "CSodium", "Support",
      ],
      path: "Simulator/Library", swiftSettings: tested),
    .executableTarget(
      name: "tideline-sim", dependencies: ["Simulator"], path: "Simulator/Program",
      swiftSettings: tested),

    // The vault without a store, which the benchmarks compare with other ciphers.
    .target(
      name: "VaultAlone", dependencies: ["Base", "Vault"], path: "Benchmarks/VaultAlone",
      swiftSettings: strict),

    // A VFS that counts, records and fails, for crash and fault tests.
    .target(
      name: "TestSupport", dependencies: ["Base", "CSQLite"], path: "TestSupport",
      swiftSettings: tested),

    // A server that keeps a log, and a client among troubles.
    .target(
      name: "LogSupport", dependencies: ["Base", "Timeline"], path: "Tests/LogSupport",
      swiftSettings: tested),

    tests("BaseTests", ["Base"]),
    tests("TimelineTests", ["Timeline", "LogSupport", "Base"]),
    tests("ViewportTests", ["Viewport", "Base"]),
    tests("WireTests", ["Wire", "Base"]),
    .testTarget(
      name: "TextTests", dependencies: ["Text", "TestSupport", "Base"],
      exclude: ["Data", "reference.py"]),
    .testTarget(
      name: "VaultTests",
      dependencies: ["Vault", "TestSupport", "Base", "CSQLite", "CSodium", "Support"],
      exclude: ["read_vault.py"]),
    tests(
      "StoreTests",
      ["Store", "Timeline", "Text", "Vault", "TestSupport", "LogSupport", "Base"]),
    tests(
      "EngineTests",
      [
        "CSQLite", "Engine", "Store", "Timeline", "Wire", "Base", "ReferenceServer", "TestSupport",
        "LogSupport",
      ]),
    tests("SimulatorTests", ["Simulator", "TestSupport"]),
    tests("BookTests", ["Book", "BookSupport", "Base"]),
    tests("ServerTests", ["ReferenceServer"]),
  ]),
  swiftLanguageModes: [.v6]
)
