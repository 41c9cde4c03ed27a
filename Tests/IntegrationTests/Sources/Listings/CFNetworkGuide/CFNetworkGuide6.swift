public import NetKit

extension CFNetworkGuide {
    /// Diagnosis.
    public enum Chapter6 {
        /// 6-1: when an error occurs, has it explained to the user, then reports and closes.
        ///
        /// The stream's error is the same before and after. Beyond the guide, the findings come back as well.
        public static func listing1(
            _ stream: ReadStream, _ event: StreamEvent, presenter: any DiagnosisPresenter,
            report: (StreamError?) -> Void
        ) -> Task<Diagnosis, Never>? {
            guard event == .errorOccurred else { return nil }
            let diagnosis = NetDiagnostic(read: stream, write: nil).diagnoseInteractively(with: presenter)
            report(stream.error)
            stream.close()
            return diagnosis
        }
    }
}
