// swift-tools-version: 6.2.3
import PackageDescription

let strict = Context.environment["NETKIT_STRICT"] != nil

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (strict ? [.treatAllWarnings(as: .error)] : [])

let cSettings: [CSetting] =
    [.define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra")]
    + (strict ? [.treatAllWarnings(as: .error)] : [])

// This package builds without fetching anything. The rivals with dependencies are in the package in Rivals/.
let package = Package(
    name: "Benchmarks",
    products: [
        .executable(name: "netkit-bench-ours", targets: ["Ours"]),
        .executable(name: "netkit-bench-http2", targets: ["OursHTTP2"]),
        .executable(name: "netkit-bench-no-loss", targets: ["NoLoss"]),
        .library(name: "BenchmarkRows", targets: ["BenchmarkRows", "CMeasure"]),
        .executable(name: "bench-peer", targets: ["Peer"]),
        .executable(name: "bench-floors", targets: ["Floors"]),
        .executable(name: "bench-floors-tls", targets: ["TLSFloors"]),
        .executable(name: "bench-libcurl", targets: ["Libcurl"]),
        .executable(name: "bench-nghttp2", targets: ["NGHTTP2"]),
        .executable(name: "bench-foundation", targets: ["FoundationRival"]),
    ],
    dependencies: [
        .package(path: "../../Packages/EventLoops"),
        .package(path: "../../Packages/FTPStream"),
        .package(path: "../../Packages/HTTP2"),
        .package(path: "../../Packages/HTTPMessage"),
        .package(path: "../../Packages/HTTPStream"),
        .package(path: "../../Packages/HostResolver"),
        .package(path: "../../Packages/NetKit"),
        .package(path: "../../Packages/StreamKit"),
    ],
    targets: [
        .executableTarget(
            name: "Ours",
            dependencies: [
                "BenchmarkRows", "CMeasure",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "FTPStream", package: "FTPStream"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "OursHTTP2",
            dependencies: [
                "BenchmarkRows", "CMeasure",
                .product(name: "HPACK", package: "HTTP2"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
        // The requests of HTTPStream's test HTTP2NoLossTests, of which it has links.
        .executableTarget(
            name: "NoLoss",
            dependencies: [
                "BenchmarkRows", "CMeasure",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .target(name: "CMeasure", cSettings: cSettings),
        .target(name: "BenchmarkRows", dependencies: ["CMeasure"], swiftSettings: settings),
        .executableTarget(name: "Peer", dependencies: ["CMeasure"], cSettings: cSettings),
        .executableTarget(name: "Floors", dependencies: ["CMeasure"], cSettings: cSettings),
        .executableTarget(
            name: "TLSFloors",
            dependencies: ["CMeasure"],
            cSettings: cSettings,
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .executableTarget(
            name: "Libcurl",
            dependencies: ["CMeasure"],
            cSettings: cSettings,
            linkerSettings: [.linkedLibrary("curl")]
        ),
        .executableTarget(
            name: "NGHTTP2",
            dependencies: ["CMeasure"],
            cSettings: cSettings,
            linkerSettings: [.linkedLibrary("nghttp2"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .executableTarget(
            name: "FoundationRival", dependencies: ["BenchmarkRows", "CMeasure"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
