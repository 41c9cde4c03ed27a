import Dispatch
import StreamKit

enum StreamKitFirstFiveMinutes {
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var file: WriteStream { WriteStream(path: "/dev/null") }
    static var pair: StreamPair { StreamPair.bound() }
    static var queue: DispatchQueue { .main }
    static var buffer: [UInt8] {
        get { [] }
        set {}
    }
    static func use(_ bytes: ArraySlice<UInt8>) {}
    static func doOtherWork() {}
}
