import Foundation

enum NetKitPage {
    static var url: URL { URL(fileURLWithPath: "/") }
}
