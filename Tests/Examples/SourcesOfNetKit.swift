import Foundation
import NetKitFoundation

enum SourcesOfNetKit {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var service: NetService { NetService(domain: "", type: "", name: "") }
}
