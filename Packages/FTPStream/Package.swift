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
    name: "FTPStream",
    products: [
        .library(name: "FTPListing", targets: ["FTPListing"]),
        .library(name: "FTPStream", targets: ["FTPStream"]),
    ],
    dependencies: [
        .package(path: "../StreamKit")
    ],
    targets: [
        .target(name: "FTPListing", swiftSettings: settings),
        .target(
            name: "FTPStream",
            dependencies: ["FTPListing", .product(name: "StreamKit", package: "StreamKit")],
            swiftSettings: settings
        ),
        .testTarget(name: "FTPListingTests", dependencies: ["FTPListing"], swiftSettings: settings),
        .testTarget(name: "FTPStreamTests", dependencies: ["FTPStream"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
