// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let package = Package(
    name: "Peers",
    products: [
        .library(name: "Peers", targets: ["Peers"]),
        .executable(name: "peer", targets: ["peer"]),
    ],
    targets: [
        .target(name: "Peers", swiftSettings: settings),
        .executableTarget(name: "peer", dependencies: ["Peers"], swiftSettings: settings),
        .testTarget(name: "PeersTests", dependencies: ["Peers", "peer"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
