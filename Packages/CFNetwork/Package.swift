// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let package = Package(
    name: "CFNetwork",
    products: [
        .library(name: "CFNetworkEngine", targets: ["CFNetworkEngine"]),
        .library(name: "CFNetwork", targets: ["CFNetwork"]),
    ],
    dependencies: [
        .package(path: "../HTTPAuth"),
        .package(path: "../HTTPMessage"),
    ],
    targets: [
        .target(name: "CFNetworkC"),
        .target(
            name: "CFNetworkEngine",
            dependencies: [
                "CFNetworkC",
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
            ],
            swiftSettings: settings
        ),
        .target(name: "CFNetwork", dependencies: ["CFNetworkC", "CFNetworkEngine"], swiftSettings: settings),
        .target(name: "CFNetworkPrograms", dependencies: ["CFNetworkC"]),
        .testTarget(
            name: "CFNetworkTests",
            dependencies: ["CFNetwork", "CFNetworkC", "CFNetworkEngine", "CFNetworkPrograms"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
