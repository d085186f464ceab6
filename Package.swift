// swift-tools-version: 6.2
import PackageDescription

let root = Context.packageDirectory

/// Names of fields are of use to a debugger and to the simulator only, and the library is to stay
/// small.
let unnamed: [SwiftSetting] =
  Context.environment["TL_REFLECTION"] == nil
  ? [.unsafeFlags(["-Xfrontend", "-disable-reflection-metadata"], .when(configuration: .release))]
  : []

/// What the compiler insists on in every room.
let strict: [SwiftSetting] =
  [
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + unnamed

/// The sanitizers' runtime comes with the host program, so its symbols stay open.
let complete = Context.environment["TL_SANITIZE"] == nil

/// Swift's own library, of which the linker may drop what nothing asks for, and what the runtime
/// needs of C++ to go inside: Scripts/lean.py makes both in the build folder. Without them the
/// library is larger and loads the shared libstdc++.
let lean = Context.environment["TL_LEAN"].map {
  ["\($0)/libswiftCore.a", "\($0)/libswiftGlibc.a", "-L\($0)"]
    + ["-Xlinker", "-T", "-Xlinker", "\(root)/Scripts/unwind.ld"]
}

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
    "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
    "-Xclang-linker", "-static-libgcc",
  ]),
  .unsafeFlags(lean ?? []),
]

func room(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies)
}

let package = Package(
  name: "tideline",
  products: [
    .library(name: "tideline", type: .dynamic, targets: ["Library"])
  ] + benchmarks,
  targets: [
    // What only C can say.
    .target(name: "CTideline", path: "Include", publicHeadersPath: "."),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "Support", dependencies: ["CSQLite"]),

    // The rooms. An arrow points down; ARCHITECTURE.md has the picture.
    .target(name: "BaseC"),
    room("Base", ["BaseC"]),
    room("Timeline", ["Base"]),
    room("Viewport", ["Base"]),
    room("Wire", ["Base"]),
    room("Text", ["Base"]),
    room("Vault", ["Base", "CSQLite", "CSodium", "Support"]),
    room("Store", ["Base", "Timeline", "Text", "Vault", "CSQLite", "Support"]),
    room("Engine", ["Base", "Timeline", "Wire", "Store"]),
    room("ABI", ["Base", "Engine", "Viewport", "CTideline"]),

    // The shared library: everything above, linked statically.
    .target(name: "Library", dependencies: ["ABI"], linkerSettings: libraryLink),

    // The reference server's logic; its program is a package of its own.
    .target(
      name: "ReferenceServer", dependencies: ["CSQLite"],
      path: "examples/server/Sources/ReferenceServer"),

    // The simulator.
    .target(
      name: "Simulator",
      dependencies: [
        "Base", "Timeline", "Store", "Engine", "ReferenceServer", "TestSupport", "CSQLite",
        "CSodium", "Support",
      ],
      path: "Simulator/Library"),
    .executableTarget(
      name: "tideline-sim", dependencies: ["Simulator"], path: "Simulator/Program"),

    // The vault without a store, which the benchmarks compare with other ciphers.
    .target(
      name: "VaultAlone", dependencies: ["Base", "Vault"], path: "Benchmarks/VaultAlone",
      swiftSettings: strict),

    // A VFS that counts, records and fails, for crash and fault tests.
    .target(
      name: "TestSupport", dependencies: ["Base", "CSQLite"], path: "TestSupport"),

    // A server that keeps a log, and a client among troubles.
    .target(
      name: "LogSupport", dependencies: ["Base", "Timeline"], path: "Tests/LogSupport"),

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
    tests("SimulatorTests", ["Simulator"]),
    tests("ServerTests", ["ReferenceServer"]),
  ],
  swiftLanguageModes: [.v6]
)
