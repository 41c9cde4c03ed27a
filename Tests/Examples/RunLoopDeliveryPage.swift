import StreamKit

enum RunLoopDeliveryPage {
    static var stream: ReadStream { ReadStream(bytes: []) }
}
