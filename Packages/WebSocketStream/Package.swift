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
    name: "WebSocketStream",
    products: [
        .library(name: "WebSocketStream", targets: ["WebSocketStream"])
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HTTPMessage"),
        .package(path: "../HTTPStream"),
        .package(path: "../StreamKit"),
    ],
    targets: [
        .target(
            name: "WebSocketStream",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebSocketStreamTests",
            dependencies: [
                "WebSocketStream",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
