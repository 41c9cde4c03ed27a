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
    name: "HTTPStream",
    products: [
        .library(name: "HTTPStream", targets: ["HTTPStream"]),
        .library(name: "HTTPServerKit", targets: ["HTTPServerKit"]),
        .library(name: "HTTPStreamTesting", targets: ["HTTPStreamTesting"]),
    ],
    traits: [
        .trait(name: "Logging", description: "Loads log their steps to a Logger of apple/swift-log.")
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HTTPAuth"),
        .package(path: "../HTTPMessage"),
        .package(path: "../HostResolver"),
        .package(path: "../StreamKit", traits: [.trait(name: "Logging", condition: .when(traits: ["Logging"]))]),
        // Neither fetched nor built without the trait.
        .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
    ],
    targets: [
        .target(
            name: "HTTPStream",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPServerKit",
            dependencies: [
                "HTTPStream",
                .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPStreamTesting",
            dependencies: [
                "HTTPStream",
                .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPStreamTests",
            dependencies: [
                "HTTPStream",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPServerKitTests",
            dependencies: [
                "HTTPServerKit",
                "HTTPStream",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPStreamTestingTests",
            dependencies: ["HTTPStreamTesting", "HTTPServerKit", "HTTPStream"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
