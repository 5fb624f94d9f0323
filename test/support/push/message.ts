import type { PushMessage } from "../../../lib/messaging/push-sender.js";

/** A message with all optional fields. */
export const newMessage = (changes: Partial<PushMessage> = {}): PushMessage => ({
  notificationId: "01890000-0000-7000-8000-000000000001",
  kind: "ORDER_READY",
  title: "Заказ готов",
  body: "«Пекарня» ждёт вас",
  data: { orderId: "01890000-0000-7000-8000-000000000002" },
  collapseKey: "order-7K3M9QX2",
  ttlSeconds: 3_600,
  urgency: "high",
  ...changes,
});
