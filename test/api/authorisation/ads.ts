import * as cast from "../../support/cast.js";
import type { Expectation, Expectations, Scene } from "./scene.js";

const campaigns = "/api/v1/admin/ads/campaigns";
const aCampaign = ({ callers: { admin } }: Scene) => cast.campaign(admin);

/** The path of a banner in a new campaign. */
const aBanner = async (scene: Scene) => {
  const campaignId = await aCampaign(scene);
  const bannerId = (await scene.callers.admin.post(`${campaigns}/${campaignId}/banners`, cast.newBanner())).string(
    "id",
  );
  return `${campaigns}/${campaignId}/banners/${bannerId}`;
};

/** The click path of a banner whose campaign is paused, so that nothing is counted in between. */
const aClick = async (scene: Scene) => {
  const banner = await aBanner(scene);
  const [, campaign = "", id = ""] = /^(.+)\/banners\/(.+)$/.exec(banner) ?? [];
  for (const step of ["activate", "pause"]) await scene.callers.admin.post(`${campaign}/${step}`);
  return `/api/v1/ads/banners/${id}/click`;
};

const move = (path: string, ...before: string[]): Expectation => ({
  prepare: async (scene) => {
    const id = await aCampaign(scene);
    for (const step of before) await scene.callers.admin.post(`${campaigns}/${id}/${step}`);
    return id;
  },
  ask: (as, _scene, id) => as.post(`${campaigns}/${id}/${path}`),
  answer: "200",
});

export const ads: Expectations = {
  "GET /api/v1/ads/banners": { ask: (as) => as.get("/api/v1/ads/banners?placement=home-top"), answer: "200" },
  "GET /api/v1/ads/banners/:id/click": { prepare: aClick, ask: (as, _scene, click) => as.get(click), answer: "302" },
  "POST /api/v1/admin/ads/campaigns": {
    ask: (as) => as.post(campaigns, cast.newCampaign()),
    answer: "201",
  },
  "GET /api/v1/admin/ads/campaigns": { ask: (as) => as.get(campaigns), answer: "200" },
  "GET /api/v1/admin/ads/campaigns/:id": {
    prepare: aCampaign,
    ask: (as, _scene, id) => as.get(`${campaigns}/${id}`),
    answer: "200",
  },
  "PUT /api/v1/admin/ads/campaigns/:id": {
    prepare: aCampaign,
    ask: (as, _scene, id) => as.put(`${campaigns}/${id}`, { budget: 1 }),
    answer: "200",
  },
  "POST /api/v1/admin/ads/campaigns/:id/activate": move("activate"),
  "POST /api/v1/admin/ads/campaigns/:id/pause": move("pause", "activate"),
  "POST /api/v1/admin/ads/campaigns/:id/complete": move("complete", "activate"),
  "GET /api/v1/admin/ads/campaigns/:id/stats": {
    prepare: aCampaign,
    ask: (as, _scene, id) => as.get(`${campaigns}/${id}/stats`),
    answer: "200",
  },
  "POST /api/v1/admin/ads/campaigns/:id/banners": {
    prepare: aCampaign,
    ask: (as, _scene, id) => as.post(`${campaigns}/${id}/banners`, cast.newBanner()),
    answer: "201",
  },
  "GET /api/v1/admin/ads/campaigns/:id/banners": {
    prepare: aCampaign,
    ask: (as, _scene, id) => as.get(`${campaigns}/${id}/banners`),
    answer: "200",
  },
  "GET /api/v1/admin/ads/campaigns/:id/banners/:bannerId": {
    prepare: aBanner,
    ask: (as, _scene, banner) => as.get(banner),
    answer: "200",
  },
  "PUT /api/v1/admin/ads/campaigns/:id/banners/:bannerId": {
    prepare: aBanner,
    ask: (as, _scene, banner) => as.put(banner, { weight: 2 }),
    answer: "200",
  },
  "DELETE /api/v1/admin/ads/campaigns/:id/banners/:bannerId": {
    prepare: aBanner,
    ask: (as, _scene, banner) => as.delete(banner),
    answer: "204",
  },
};
