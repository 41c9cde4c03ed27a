internal import StreamKit

extension FTPConversation {
    /// Runs `body`, whose error becomes a stream's.
    static func converting<Result>(_ body: () throws(FTPError) -> Result) throws(StreamError) -> Result {
        do throws(FTPError) {
            return try body()
        } catch {
            throw StreamError(error)
        }
    }
}
